//! The proof of small libraries that are packed in place, and of each kind of damage to them.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use crate::scene::*;
use coldstart_prove::{NotProven, Proof, Source, prove};

fn proof(original: &Elf, output: &Elf) -> Result<Proof, NotProven> {
    prove(Source::in_memory(&original.0), Source::in_memory(&output.0))
}

#[test]
fn a_packed_library_is_the_same_object_and_so_is_the_way_back() {
    for linker in linkers() {
        let original = build(linker);
        let packed = pack_in_place(&original);
        assert!(original.0 != packed.0);
        let there = proof(&original, &packed).unwrap_or_else(|error| panic!("{linker}: {error}"));
        let back = proof(&packed, &original).unwrap_or_else(|error| panic!("{linker}: {error}"));
        assert!(there.relative_relocations >= 10, "{linker}: {there:?}");
        assert_eq!(there.relr_relocations, there.relative_relocations);
        assert_eq!((back.relr_relocations, back.relative_relocations), (0, there.relative_relocations));
        assert_eq!(there.load_biases.len(), 3);
        assert_eq!(there.notes, 1, "{linker}: the build id");
        assert!(there.lookups >= 6 && there.lookups < there.symbols);
        assert!(there.other_relocations >= 1);
        assert!(there.unwind_entries >= 4, "{linker}: {there:?}");
        assert!(there.memory_bytes > 12_000, "{linker}: the zeros count");
        assert_eq!(there.moved_sections, [".rela.dyn"]);
    }
}

#[test]
fn a_file_without_section_headers_is_proven_by_its_dynamic_table() {
    let mut original = build("bfd");
    let mut packed = pack_in_place(&original);
    for elf in [&mut original, &mut packed] {
        let table = elf.word(40) as usize;
        elf.0.truncate(table);
        elf.put(40, 8, 0);
        elf.put(60, 4, 0);
    }
    proof(&original, &packed).unwrap();
    let at = packed.offset(packed.tag(36).unwrap());
    packed.0[at + 9] ^= 1;
    assert_eq!(proof(&original, &packed).unwrap_err().what(), "memory");
}

/// A way to damage a file, and what the proof must say of it.
type Damage = (&'static str, fn(&mut Elf), &'static str);

const DAMAGES: &[Damage] = &[
    ("entry point", |elf| elf.put(24, 8, 0x10), "ELF header"),
    ("machine", |elf| elf.put(18, 2, 183), "ELF header"),
    ("OS ABI", |elf| elf.0[7] ^= 3, "ELF header"),
    ("processor flags", |elf| elf.put(48, 4, 1), "ELF header"),
    ("no ELF file", |elf| elf.0[0] = 0, "file"),
    ("half a file", |elf| elf.0.truncate(elf.0.len() / 2), "file"),
    ("no file", |elf| elf.0.clear(), "file"),
    ("a segment beyond the end", |elf| load(elf, 0, P_OFFSET, 0x10_0000), "load segment"),
    ("a segment of another alignment", |elf| load(elf, 1, P_ALIGN, 8), "load segment"),
    ("an offset that is not congruent", |elf| load(elf, 1, P_OFFSET, 8), "load segment"),
    ("a segment that overlaps", |elf| load(elf, 1, P_VADDR, 0), "load segment"),
    ("a segment that is shorter in memory", |elf| last_load(elf, P_MEMSZ, |size| size - 4096), "load segment"),
    ("writable code", |elf| executable(elf, 7), "permissions"),
    ("code that cannot run", |elf| executable(elf, 4), "permissions"),
    ("PT_TLS", |elf| segment(elf, 7, P_ALIGN, 64), "segment"),
    ("PT_GNU_RELRO", |elf| segment(elf, 0x6474_e552, P_MEMSZ, 0x10), "segment"),
    ("PT_GNU_EH_FRAME", |elf| segment(elf, 0x6474_e550, P_VADDR, 0x10), "segment"),
    ("PT_GNU_STACK", |elf| segment(elf, 0x6474_e551, P_FLAGS, 7), "segment"),
    ("PT_DYNAMIC's offset", |elf| segment(elf, 2, P_OFFSET, 0x40), "segment"),
    ("a segment's type", |elf| segment(elf, 0x6474_e550, P_TYPE, 0x6474_e554), "segment"),
    ("the build id", |elf| flip(elf, ".note.gnu.build-id", 17), "notes"),
    ("code", |elf| flip(elf, ".text", 3), "memory"),
    ("unwind tables", |elf| flip(elf, ".eh_frame", 9), "memory"),
    ("the unwind index", |elf| flip(elf, ".eh_frame_hdr", 13), "memory"),
    ("data", |elf| flip(elf, ".data", 1), "memory"),
    ("thread-local data", |elf| flip(elf, ".tdata", 0), "memory"),
    ("an addend", |elf| first_slot(elf, |elf, at| elf.0[at] ^= 4), "memory"),
    ("an addend of zero", |elf| first_slot(elf, |elf, at| elf.put(at, 8, 0)), "memory"),
    ("a RELR bit less", |elf| relr(elf, 1, |bits| bits & !2), "memory"),
    ("a RELR bit more", |elf| relr(elf, 1, |bits| bits | 1 << 24), "memory"),
    ("a RELR address that is code", |elf| relr(elf, 0, |_| 0x100), "relative relocation"),
    ("RELR out of order", |elf| relr(elf, 1, |_| 0x10), "relative relocation"),
    ("RELR that begins with a bitmap", |elf| relr(elf, 0, |address| address | 1), "relative relocation"),
    ("RELR in words of another size", |elf| elf.set_tag(37, 4), "relocation table"),
    ("RELR of half a word", |elf| elf.set_tag(35, elf.tag(35).unwrap() - 4), "relocation table"),
    ("RELR that is shorter", |elf| elf.set_tag(35, 8), "memory"),
    ("RELR that is not aligned", |elf| elf.set_tag(36, elf.tag(36).unwrap() + 4), "relocation table"),
    ("RELR that is not mapped", |elf| elf.set_tag(36, 0x7000_0000), "dynamic table"),
    ("a symbol's relocation", |elf| record(elf, 16, |addend| addend + 1), "relocation"),
    ("where a symbol goes", |elf| record(elf, 0, |offset| offset + 8), "relocation"),
    ("a relocation's symbol", |elf| record(elf, 8, |info| info + (1 << 32)), "relocation"),
    ("a relocation less", |elf| elf.set_tag(8, elf.tag(8).unwrap() - 24), "relocation"),
    ("a count of relative relocations", |elf| elf.edit_entries(|all| rename(all, 37, 0x6fff_fff9)), "relocation table"),
    ("a symbol's value", |elf| flip(elf, ".dynsym", 24 + 8), "dynamic symbols"),
    ("a symbol's name", |elf| flip(elf, ".dynstr", 2), "dynamic strings"),
    ("the hash table's filter", |elf| flip(elf, ".gnu.hash", 17), "hash table"),
    ("the old hash table's chains", |elf| old_hash(elf), "hash table"),
    ("DT_FLAGS_1", |elf| elf.edit_entries(|all| all.retain(|entry| entry.0 != 0x6fff_fffb)), "dynamic table"),
    ("another soname", |elf| elf.edit_entries(|all| all.insert(0, (14, 1))), "dynamic table"),
    ("another needed library", |elf| elf.edit_entries(|all| rename(all, 13, 1)), "dynamic table"),
    ("no DT_SYMTAB", |elf| elf.edit_entries(|all| all.retain(|entry| entry.0 != 6)), "dynamic table"),
    ("a tag that stands twice", |elf| elf.edit_entries(|all| rename(all, 37, 36)), "dynamic table"),
    ("no end of the dynamic table", |elf| without_end(elf), "dynamic table"),
    ("something behind the dynamic table", |elf| behind_end(elf), "dynamic table"),
    ("a section's address", |elf| header(elf, ".text", 16, |address| address + 16), "section"),
    ("a section's type", |elf| header(elf, ".text", 4, |kind| kind ^ 8), "section"),
    ("a section's link", |elf| header(elf, ".dynsym", 40, |link| link ^ 1), "section"),
    ("a section's offset", |elf| header(elf, ".text", 24, |offset| offset + 16), "section"),
    ("a table's section", |elf| header(elf, ".rela.dyn", 32, |size| size + 24), "section"),
    ("a section's name", |elf| flip(elf, ".shstrtab", 3), "section"),
    ("a comment", |elf| flip(elf, ".comment", 2), "section contents"),
    ("a static symbol", |elf| flip(elf, ".symtab", 24 + 8), "section contents"),
    ("something at the end", |elf| elf.0.extend(b"payload"), "bytes of no section"),
];

fn load(elf: &mut Elf, number: usize, field: (usize, usize), change: u64) {
    let at = elf.segments(1)[number] + field.0;
    elf.put(at, field.1, if field == P_VADDR || field == P_ALIGN { change } else { elf.word(at) + change });
}

fn last_load(elf: &mut Elf, field: (usize, usize), change: fn(u64) -> u64) {
    let at = elf.segments(1).pop().unwrap() + field.0;
    elf.put(at, field.1, change(elf.word(at)));
}

fn executable(elf: &mut Elf, flags: u64) {
    let at = elf.segments(1).into_iter().find(|at| elf.number(at + 4, 4) & 1 != 0).unwrap();
    elf.put(at + 4, 4, flags);
}

fn segment(elf: &mut Elf, kind: u64, field: (usize, usize), value: u64) {
    let at = elf.segments(kind)[0] + field.0;
    elf.put(at, field.1, value);
}

fn flip(elf: &mut Elf, section: &str, at: usize) {
    let range = elf.content(section);
    assert!(at < range.len());
    elf.0[range.start + at] ^= 0x20;
}

fn first_slot(elf: &mut Elf, change: fn(&mut Elf, usize)) {
    let first = elf.word(elf.offset(elf.tag(36).unwrap()));
    let at = elf.offset(first);
    change(elf, at);
}

fn relr(elf: &mut Elf, number: usize, change: fn(u64) -> u64) {
    let at = elf.offset(elf.tag(36).unwrap()) + 8 * number;
    elf.put(at, 8, change(elf.word(at)));
}

fn record(elf: &mut Elf, field: usize, change: fn(u64) -> u64) {
    let at = elf.offset(elf.tag(7).unwrap()) + field;
    elf.put(at, 8, change(elf.word(at)));
}

fn rename(entries: &mut [(u64, u64)], from: u64, to: u64) {
    entries.iter_mut().find(|entry| entry.0 == from).unwrap().0 = to;
}

fn old_hash(elf: &mut Elf) {
    let range = elf.content(".hash");
    elf.0[range.end - 4] ^= 1;
}

fn without_end(elf: &mut Elf) {
    let (at, size) = elf.dynamic();
    let used = elf.entries().len();
    for place in (at + 16 * used..at + size).step_by(16) {
        elf.put(place, 8, 1);
    }
}

fn behind_end(elf: &mut Elf) {
    let (at, size) = elf.dynamic();
    elf.put(at + size - 8, 8, 77);
}

fn header(elf: &mut Elf, name: &str, field: usize, change: fn(u64) -> u64) {
    let size = if field == 4 || field == 40 { 4 } else { 8 };
    let at = elf.section(name).unwrap() + field;
    elf.put(at, size, change(elf.number(at, size)));
}

#[test]
fn every_kind_of_damage_is_found_and_named() {
    let original = build("bfd");
    let packed = pack_in_place(&original);
    let mut wrong = Vec::new();
    for (name, damage, what) in DAMAGES {
        let mut damaged = packed.clone();
        damage(&mut damaged);
        assert!(damaged.0 != packed.0, "{name} changes nothing");
        match proof(&original, &damaged) {
            Ok(_) => wrong.push(format!("{name}: proven")),
            Err(error) if error.what() != *what => wrong.push(format!("{name}: {error} ({} for {what})", error.what())),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_byte_of_mapped_memory_is_without_a_check() {
    for linker in linkers() {
        let original = build(linker);
        let packed = pack_in_place(&original);
        let proven = unchecked_bits(&original, &packed, |_| false, |damaged| proof(&original, damaged).is_ok());
        assert!(proven.is_empty(), "{linker}: {proven:x?}");
    }
}

proptest::proptest! {
    /// Headers and tables are damaged in the original, too: an answer, whatever it is, and no panic.
    #[test]
    fn hostile_files_get_an_answer(
        changes in proptest::collection::vec((0_usize..1 << 14, proptest::prelude::any::<u8>()), 1..12),
        length in 0_usize..1 << 15,
    ) {
        static FILES: std::sync::OnceLock<[Elf; 2]> = std::sync::OnceLock::new();
        let [original, packed] = FILES.get_or_init(|| {
            let original = build("bfd");
            let packed = pack_in_place(&original);
            [original, packed]
        });
        let mut damaged = packed.clone();
        for (at, byte) in changes {
            // Half of the changes go to the headers.
            let at = if byte & 1 == 0 { at % 1500 } else { at % damaged.0.len() };
            damaged.0[at] = byte;
        }
        damaged.0.truncate(length);
        let _ = proof(&damaged, &damaged);
        let _ = proof(&damaged, original);
        let _ = proof(original, &damaged);
    }
}
