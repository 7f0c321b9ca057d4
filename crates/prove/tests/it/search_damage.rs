//! One thing at a time is changed in an output that is proven: each must be found.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use crate::scene::*;
use crate::search_scene::*;

const TWO: Shape = Shape { moves: true, split: true, grows: false, follows: false };

/// A way to damage a file, and what the proof must say of it.
type Damage = (&'static str, fn(&mut Elf), &'static str);

/// For strings in a segment of their own, and the dynamic table in a second one.
const DAMAGES: &[Damage] = &[
    // The dynamic table.
    ("two needed libraries changed places", |elf| elf.edit_entries(|all| all.swap(0, 1)), "dynamic table"),
    (
        "a needed library less",
        |elf| {
            elf.edit_entries(|all| {
                all.remove(1);
            })
        },
        "dynamic table",
    ),
    ("a needed library twice", |elf| elf.edit_entries(|all| all.insert(1, all[0])), "dynamic table"),
    ("another needed library", |elf| elf.edit_entries(|all| all[0].1 += 1), "dynamic table"),
    ("a needed library at the end", |elf| elf.edit_entries(|all| all.rotate_left(1)), "dynamic table"),
    ("needed libraries apart", |elf| elf.edit_entries(|all| all[4..8].rotate_left(1)), "dynamic table"),
    ("a name that is not in the strings", |elf| elf.edit_entries(|all| all[0].1 = 1 << 20), "dynamic table"),
    ("no search path", |elf| elf.edit_entries(|all| all.retain(|entry| entry.0 != 29)), "dynamic table"),
    ("both search paths", |elf| both(elf), "dynamic table"),
    ("the other search path", |elf| rename(elf, 29, 15), "dynamic table"),
    ("part of the search path", |elf| elf.set_tag(29, elf.tag(29).unwrap() + 1), "dynamic table"),
    ("an auditor", |elf| elf.edit_entries(|all| all.push((0x6fff_fefc, 1))), "dynamic table"),
    ("an auditor for all", |elf| elf.edit_entries(|all| all.push((0x6fff_fefb, 1))), "dynamic table"),
    ("another tag", |elf| elf.edit_entries(|all| all.push((0x6000_0000, 1))), "dynamic table"),
    ("a redundant tag", |elf| elf.edit_entries(|all| all.push((24, 0))), "dynamic table"),
    ("no DT_SYMENT", |elf| elf.edit_entries(|all| all.retain(|entry| entry.0 != 11)), "dynamic table"),
    ("a soname", |elf| elf.edit_entries(|all| all.push((14, 1))), "dynamic table"),
    ("other entries in another order", |elf| elf.edit_entries(|all| swap_last(all)), "dynamic table"),
    (
        "no count of relative relocations",
        |elf| elf.edit_entries(|all| rename_to(all, 0x6fff_fff9, 24)),
        "dynamic table",
    ),
    ("DT_FLAGS_1", |elf| elf.set_tag(0x6fff_fffb, 1), "dynamic table"),
    ("DT_INIT", |elf| elf.set_tag(12, elf.tag(12).unwrap() + 4), "dynamic table"),
    ("no end of the dynamic table", |elf| without_end(elf), "dynamic table"),
    ("something behind the end", |elf| behind_end(elf), "dynamic table"),
    ("a size of the strings that is too small", |elf| strsz(elf, -22), "dynamic table"),
    ("a size of the strings that is one less", |elf| strsz(elf, -1), "dynamic strings"),
    ("a size of the strings that is too large", |elf| strsz(elf, 1 << 20), "dynamic table"),
    ("the old size of the strings", |elf| strsz(elf, -150), "dynamic strings"),
    ("strings where they were", |elf| strings_back(elf), "dynamic table"),
    ("an old string", |elf| strings(elf, 3), "dynamic strings"),
    ("the first string", |elf| strings(elf, 0), "dynamic strings"),
    ("a new string", |elf| strings(elf, elf_strings_end(elf) - 3), "dynamic table"),
    ("a string that nobody asked for", |elf| more_strings(elf), "dynamic strings"),
    // Segments.
    ("strings that are executable", |elf| added(elf, 0, (4, 4), 5), "load segment"),
    ("a table that is executable", |elf| added(elf, 1, (4, 4), 7), "load segment"),
    ("strings that are writable", |elf| added(elf, 0, (4, 4), 6), "added memory"),
    ("strings that cannot be read", |elf| added(elf, 0, (4, 4), 0), "load segment"),
    ("a table that is not writable", |elf| added(elf, 1, (4, 4), 4), "dynamic table"),
    ("a flag of the system's own", |elf| added(elf, 1, (4, 4), 6 | 1 << 20), "load segment"),
    ("new segments that overlap", |elf| overlap(elf), "load segment"),
    ("new segments on one page", |elf| one_page(elf), "load segment"),
    ("new segments out of order", |elf| out_of_order(elf), "load segment"),
    ("a new segment far away", |elf| move_table(elf, 1 << 40), "load segment"),
    ("a new segment with zeros behind it", |elf| added(elf, 1, P_MEMSZ, 0x2000), "load segment"),
    ("a new segment that is short", |elf| added(elf, 0, P_FILESZ, 8), "load segment"),
    ("a new segment beyond the end", |elf| added(elf, 1, P_OFFSET, 1 << 40), "load segment"),
    ("a new segment's alignment", |elf| added(elf, 0, P_ALIGN, 16), "load segment"),
    ("a new segment's greater alignment", |elf| added(elf, 0, P_ALIGN, 1 << 16), "load segment"),
    ("a new segment that is not congruent", |elf| added(elf, 0, P_OFFSET, 8), "load segment"),
    ("a new segment's physical address", |elf| added(elf, 0, (24, 8), 8), "load segment"),
    ("a third new segment", |elf| third(elf), "load segment"),
    ("a segment of another type", |elf| added(elf, 0, P_TYPE, 4), "segment"),
    ("an old segment that grows", |elf| old_load(elf, 3, P_MEMSZ, 8), "load segment"),
    ("an old segment of the file that grows", |elf| old_load(elf, 3, P_FILESZ, 8), "load segment"),
    ("an old segment elsewhere", |elf| old_load(elf, 2, P_VADDR, 0x10), "load segment"),
    ("an old segment that is writable", |elf| old_load(elf, 0, (4, 4), 2), "load segment"),
    ("PT_DYNAMIC where it was", |elf| table_at(elf, old_table(elf)), "dynamic table"),
    ("PT_DYNAMIC elsewhere", |elf| table_at(elf, elf.tag(5).unwrap()), "dynamic table"),
    ("PT_DYNAMIC in the file", |elf| segment(elf, 2, P_OFFSET, 0x40), "segment"),
    ("PT_DYNAMIC's size", |elf| segment(elf, 2, P_MEMSZ, 0x40), "segment"),
    ("PT_DYNAMIC's flags", |elf| segment(elf, 2, (4, 4), 4), "segment"),
    ("PT_DYNAMIC's alignment", |elf| segment(elf, 2, P_ALIGN, 4), "segment"),
    ("PT_DYNAMIC one entry on", |elf| shifted(elf), "dynamic table"),
    ("PT_GNU_RELRO", |elf| relro(elf), "segment"),
    ("PT_GNU_STACK", |elf| segment(elf, 0x6474_e551, (4, 4), 7), "segment"),
    ("PT_PHDR", |elf| segment(elf, 6, P_FILESZ, 0x2d8), "program headers"),
    ("PT_PHDR behind a segment", |elf| swap_segments(elf, 0, 2), "segment"),
    ("PT_DYNAMIC first", |elf| swap_segments(elf, 0, 8), "segment"),
    ("PT_INTERP behind a segment", |elf| swap_segments(elf, 1, 2), "segment"),
    ("the loader's path", |elf| flip(elf, ".interp", 5), "interpreter"),
    ("the build id", |elf| flip(elf, ".note.gnu.build-id", 20), "notes"),
    // Memory.
    ("code", |elf| flip(elf, ".text", 3), "memory"),
    ("data", |elf| flip(elf, ".data", 0x60), "memory"),
    ("read-only data", |elf| flip(elf, ".rodata", 5), "memory"),
    ("thread-local data", |elf| flip(elf, ".tdata", 0), "memory"),
    ("unwind tables", |elf| flip(elf, ".eh_frame", 9), "memory"),
    ("the global offset table", |elf| flip(elf, ".got.plt", 3), "memory"),
    ("where the strings were", |elf| in_old_strings(elf), "memory"),
    ("where the dynamic table was", |elf| in_old_table(elf), "memory"),
    ("something between what is new", |elf| in_padding(elf), "added memory"),
    ("a symbol's value", |elf| flip(elf, ".dynsym", 24 + 8), "dynamic symbols"),
    ("the hash table's filter", |elf| flip(elf, ".gnu.hash", 17), "hash table"),
    ("a needed version", |elf| flip(elf, ".gnu.version_r", 16), "needed versions"),
    ("a symbol's version", |elf| flip(elf, ".gnu.version", 2), "symbol versions"),
    ("a relocation's addend", |elf| flip(elf, ".rela.dyn", 16), "memory"),
    ("a relocation of the new table", |elf| relocate_new(elf), "memory"),
    ("a relocation's symbol", |elf| flip(elf, ".rela.plt", 12), "relocation"),
    ("symbols in new memory", |elf| symbols_there(elf), "added memory"),
    // Sections.
    ("the dynamic section where it was", |elf| header(elf, ".dynamic", 16, |_| OLD), "section"),
    ("the dynamic section's size", |elf| header(elf, ".dynamic", 32, |size| size - 16), "section"),
    ("the dynamic section's offset", |elf| header(elf, ".dynamic", 24, |offset| offset - 8), "section"),
    ("the strings' section elsewhere", |elf| header(elf, ".dynstr", 16, |address| address + 8), "section"),
    ("the strings' section's size", |elf| header(elf, ".dynstr", 32, |size| size - 1), "section"),
    ("the strings' section's offset", |elf| header(elf, ".dynstr", 24, |offset| offset + 1), "section"),
    ("the symbols' section's link", |elf| header(elf, ".dynsym", 40, |link| link ^ 1), "section"),
    ("a section's type", |elf| header(elf, ".text", 4, |kind| kind ^ 8), "section"),
    ("our note is loaded", |elf| header(elf, ".note.coldstart", 8, |_| 2), "our note"),
    ("our note has an address", |elf| header(elf, ".note.coldstart", 16, |_| 64), "our note"),
    ("our note stands elsewhere", |elf| header(elf, ".note.coldstart", 24, |offset| offset - 4), "our note"),
    ("our note ends elsewhere", |elf| header(elf, ".note.coldstart", 32, |size| size - 4), "our note"),
    ("our note is of another type", |elf| header(elf, ".note.coldstart", 4, |_| 1), "our note"),
    ("our note has a link", |elf| header(elf, ".note.coldstart", 40, |_| 1), "our note"),
    ("our note has another alignment", |elf| header(elf, ".note.coldstart", 48, |_| 8), "our note"),
    ("our note has entries", |elf| header(elf, ".note.coldstart", 56, |_| 8), "our note"),
    ("our note's content", |elf| flip(elf, ".note.coldstart", 30), "our note"),
    ("our note's check of itself", |elf| flip(elf, ".note.coldstart", 70), "our note"),
    ("our note has another name", |elf| rename_section(elf), "section"),
    ("a section less", |elf| elf.put(60, 2, elf.number(60, 2) - 2), "file"),
    ("_DYNAMIC names the old table", |elf| dynamic_symbol(elf), "section contents"),
    ("a static symbol", |elf| flip(elf, ".symtab", 24 + 8), "section contents"),
    ("a comment", |elf| flip(elf, ".comment", 2), "section contents"),
    ("something at the end", |elf| elf.0.extend(b"payload"), "bytes of no section"),
    // The ELF header.
    ("the entry point", |elf| elf.put(24, 8, 0x10), "ELF header"),
    ("the type", |elf| elf.put(16, 2, 2), "ELF header"),
    ("half a file", |elf| elf.0.truncate(elf.0.len() / 2), "file"),
];

/// Stands for the address of the original's dynamic table.
const OLD: u64 = 0x0123_4567;

fn rename(elf: &mut Elf, from: u64, to: u64) {
    elf.edit_entries(|all| rename_to(all, from, to));
}

fn rename_to(all: &mut [(u64, u64)], from: u64, to: u64) {
    all.iter_mut().find(|entry| entry.0 == from).unwrap().0 = to;
}

fn both(elf: &mut Elf) {
    let path = elf.tag(29).unwrap();
    elf.edit_entries(|all| all.push((15, path)));
}

fn swap_last(all: &mut [(u64, u64)]) {
    let last = all.len() - 1;
    all.swap(last - 1, last);
}

fn without_end(elf: &mut Elf) {
    let (at, size) = elf.dynamic();
    for place in (at + 16 * elf.entries().len()..at + size).step_by(16) {
        elf.put(place, 8, 24);
    }
}

fn behind_end(elf: &mut Elf) {
    let (at, size) = elf.dynamic();
    elf.put(at + size - 8, 8, 77);
}

fn strsz(elf: &mut Elf, change: i64) {
    elf.set_tag(10, elf.tag(10).unwrap().wrapping_add_signed(change));
}

fn elf_strings_end(elf: &Elf) -> usize {
    elf.tag(10).unwrap() as usize
}

fn strings_back(elf: &mut Elf) {
    let at = elf.tag(6).unwrap();
    elf.set_tag(5, at);
    elf.set_tag(10, 1);
}

fn strings(elf: &mut Elf, at: usize) {
    let place = elf.offset(elf.tag(5).unwrap()) + at;
    elf.0[place] ^= 0x40;
}

/// The room behind the strings gets another string, and the strings' size says so.
fn more_strings(elf: &mut Elf) {
    let size = elf.tag(10).unwrap();
    let at = elf.offset(elf.tag(5).unwrap()) + size as usize;
    let load = elf.segments(1).into_iter().find(|load| elf.word(load + P_VADDR.0) == elf.tag(5).unwrap()).unwrap();
    for field in [P_FILESZ, P_MEMSZ] {
        elf.put(load + field.0, 8, size + 9);
    }
    elf.0[at..at + 9].copy_from_slice(b"smuggled\0");
    elf.set_tag(10, size + 9);
    let section = elf.section(".dynstr").unwrap();
    elf.put(section + 32, 8, size + 9);
}

fn added(elf: &mut Elf, number: usize, field: (usize, usize), value: u64) {
    let loads = elf.segments(1);
    let at = loads[loads.len() - 2 + number];
    let small = [P_OFFSET, (24, 8)].contains(&field) && value == 8;
    let value = if small { elf.number(at + field.0, field.1) + 8 } else { value };
    elf.put(at + field.0, field.1, value);
}

/// The second new segment has another address, with the dynamic table in it.
fn move_table(elf: &mut Elf, by: u64) {
    let load = elf.segments(1).pop().unwrap();
    for at in [load, elf.segments(2)[0]] {
        elf.put(at + P_VADDR.0, 8, elf.word(at + P_VADDR.0) + by);
        elf.put(at + 24, 8, elf.word(at + 24) + by);
    }
}

/// `PT_DYNAMIC` names another place.
fn table_at(elf: &mut Elf, address: u64) {
    let (at, size) = (elf.segments(2)[0], 0x40);
    let offset = elf.offset(address) as u64;
    for (field, value) in
        [(P_OFFSET.0, offset), (P_VADDR.0, address), (24, address), (P_FILESZ.0, size), (P_MEMSZ.0, size)]
    {
        elf.put(at + field, 8, value);
    }
}

fn overlap(elf: &mut Elf) {
    let loads = elf.segments(1);
    let [first, second] = [loads[loads.len() - 2], loads[loads.len() - 1]];
    let by = elf.word(second + P_VADDR.0) - elf.word(first + P_VADDR.0);
    elf.put(second + P_VADDR.0, 8, elf.word(second + P_VADDR.0) - by);
    elf.put(second + 24, 8, elf.word(second + 24) - by);
}

/// The first one reaches into the page of the second, but not to its first byte.
fn one_page(elf: &mut Elf) {
    let loads = elf.segments(1);
    let [first, second] = [loads[loads.len() - 2], loads[loads.len() - 1]];
    let (at, size) = elf.dynamic();
    elf.0.copy_within(at..at + size - 0x20, at + 0x20);
    let table = elf.segments(2)[0];
    for field in [P_OFFSET.0, P_VADDR.0, 24] {
        elf.put(second + field, 8, elf.word(second + field) + 0x20);
        elf.put(table + field, 8, elf.word(table + field) + 0x20);
    }
    for field in [P_FILESZ.0, P_MEMSZ.0] {
        elf.put(table + field, 8, elf.word(table + field) - 0x20);
        elf.put(second + field, 8, elf.word(second + field) - 0x20);
    }
    let size = elf.word(second + P_VADDR.0) - elf.word(first + P_VADDR.0) - 8;
    for field in [P_FILESZ, P_MEMSZ] {
        elf.put(first + field.0, 8, size);
    }
}

fn out_of_order(elf: &mut Elf) {
    let loads = elf.segments(1);
    swap_headers(elf, loads[loads.len() - 2], loads[loads.len() - 1]);
}

fn third(elf: &mut Elf) {
    let loads = elf.segments(1);
    let last = loads[loads.len() - 1];
    // What was PT_GNU_STACK becomes a segment of its own, behind the others.
    let stack = elf.segments(0x6474_e551)[0];
    let header = elf.0[last..last + 56].to_vec();
    elf.0[stack..stack + 56].copy_from_slice(&header);
    for field in [P_VADDR.0, 24] {
        elf.put(stack + field, 8, elf.word(stack + field) + 0x1000);
    }
}

fn old_load(elf: &mut Elf, number: usize, field: (usize, usize), change: u64) {
    let at = elf.segments(1)[number] + field.0;
    elf.put(at, field.1, elf.number(at, field.1) + change);
}

fn segment(elf: &mut Elf, kind: u64, field: (usize, usize), value: u64) {
    let at = elf.segments(kind)[0] + field.0;
    elf.put(at, field.1, value);
}

fn relro(elf: &mut Elf) {
    let at = elf.segments(0x6474_e552)[0] + P_MEMSZ.0;
    elf.put(at, 8, elf.word(at) + 0x1000);
}

fn shifted(elf: &mut Elf) {
    let at = elf.segments(2)[0];
    for (field, by) in [(P_OFFSET, 16), (P_VADDR, 16), ((24, 8), 16), (P_FILESZ, -16), (P_MEMSZ, -16)] {
        elf.put(at + field.0, 8, elf.word(at + field.0).wrapping_add_signed(by));
    }
}

fn swap_segments(elf: &mut Elf, one: usize, other: usize) {
    let table = elf.word(32) as usize;
    swap_headers(elf, table + 56 * one, table + 56 * other);
}

fn swap_headers(elf: &mut Elf, one: usize, other: usize) {
    let (first, second) = (elf.0[one..one + 56].to_vec(), elf.0[other..other + 56].to_vec());
    elf.0[one..one + 56].copy_from_slice(&second);
    elf.0[other..other + 56].copy_from_slice(&first);
}

fn flip(elf: &mut Elf, section: &str, at: usize) {
    let range = elf.content(section);
    assert!(at < range.len());
    elf.0[range.start + at] ^= 0x20;
}

/// What the first word of the global offset table still says.
fn old_table(elf: &Elf) -> u64 {
    elf.word(elf.content(".got.plt").start)
}

fn in_old_table(elf: &mut Elf) {
    let at = elf.offset(old_table(elf));
    assert_eq!(elf.0[at + 40], 0);
    elf.0[at + 40] = 0xee;
}

/// The symbols' versions come behind the old strings.
fn in_old_strings(elf: &mut Elf) {
    let at = elf.content(".gnu.version").start - 4;
    assert_eq!(elf.0[at], 0);
    elf.0[at] = 0xee;
}

/// Between the strings and the end of their segment.
fn in_padding(elf: &mut Elf) {
    let loads = elf.segments(1);
    let load = loads[loads.len() - 2];
    let size = elf.word(load + P_FILESZ.0) + 16;
    for field in [P_FILESZ, P_MEMSZ] {
        elf.put(load + field.0, 8, size);
    }
    let end = elf.word(load + P_OFFSET.0) + size;
    elf.0[end as usize - 1] = 1;
}

fn relocate_new(elf: &mut Elf) {
    let (table, at) = (elf.tag_place(), elf.content(".rela.dyn").start);
    elf.put(at, 8, table + 8);
}

/// The symbols are copied behind the table.
fn symbols_there(elf: &mut Elf) {
    let loads = elf.segments(1);
    let load = loads[loads.len() - 2];
    let range = elf.content(".dynsym");
    let bytes = elf.0[range.clone()].to_vec();
    elf.0[range].fill(0);
    let size = elf.word(load + P_FILESZ.0).next_multiple_of(8);
    let at = (elf.word(load + P_OFFSET.0) + size) as usize;
    elf.0[at..at + bytes.len()].copy_from_slice(&bytes);
    for field in [P_FILESZ, P_MEMSZ] {
        elf.put(load + field.0, 8, size + bytes.len() as u64);
    }
    let address = elf.word(load + P_VADDR.0) + size;
    elf.set_tag(6, address);
    let section = elf.section(".dynsym").unwrap();
    elf.put(section + 16, 8, address);
    elf.put(section + 24, 8, at as u64);
}

fn header(elf: &mut Elf, name: &str, field: usize, change: fn(u64) -> u64) {
    let size = if field == 4 || field == 40 { 4 } else { 8 };
    let at = elf.section(name).unwrap() + field;
    let value = change(elf.number(at, size));
    let value = if value == OLD { old_table(elf) } else { value };
    elf.put(at, size, value);
}

fn rename_section(elf: &mut Elf) {
    let name = b".note.coldstart";
    let at = elf.0.windows(name.len()).rposition(|window| window == name).unwrap();
    elf.0[at + 7] ^= 1;
}

fn dynamic_symbol(elf: &mut Elf) {
    let (old, new) = (old_table(elf), elf.tag_place());
    let at = elf.content(".symtab").step_by(24).find(|at| elf.word(at + 8) == new && elf.number(at + 4, 1) & 15 == 1);
    elf.put(at.unwrap() + 8, 8, old);
}

#[test]
fn every_kind_of_damage_is_found_and_named() {
    let (original, edit, output) = scene(TWO);
    let mut wrong = Vec::new();
    for (name, damage, what) in DAMAGES {
        let mut damaged = output.clone();
        damage(&mut damaged);
        assert!(damaged.0 != output.0, "{name} changes nothing");
        match proof(&original, &damaged, &edit) {
            Ok(_) => wrong.push(format!("{name}: proven")),
            Err(error) if error.what() != *what => wrong.push(format!("{name}: {error} ({} for {what})", error.what())),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
