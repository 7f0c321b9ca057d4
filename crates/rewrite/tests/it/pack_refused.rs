//! Every reason not to pack a file, on a real file changed in the one place that makes the reason.

use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_prove::{Source, prove};
use coldstart_rewrite::{LibcFloor, NothingToPack, PackDecision, PackOptions, Refusal, SlotSource, plan_pack};

use crate::scene::Elf;

const SOURCE: &str = include_str!("pack_refused/source.c");

/// `DT_*`.
const STRTAB: u64 = 5;
const SYMTAB: u64 = 6;
const RELA: u64 = 7;
const REL: u64 = 17;
const RELSZ: u64 = 18;
const VERNEED: u64 = 0x6fff_fffe;

fn gcc(flags: &[&str]) -> Elf {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("library.c");
    std::fs::write(&source, SOURCE).unwrap();
    let out = folder.path().join("out");
    let mut gcc = Command::new("gcc");
    let built = gcc.args(["-O1", "-g0", "-fPIC", "-w"]).args(flags).arg("-o").arg(&out).arg(&source).output().unwrap();
    assert!(built.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&built.stderr));
    Elf(std::fs::read(&out).unwrap())
}

fn library() -> Elf {
    gcc(&["-shared"])
}

fn decide(elf: &Elf, options: &PackOptions) -> Result<PackDecision, Refusal> {
    plan_pack(&ElfFile::parse(&elf.0).unwrap(), options)
}

/// The refusal's code; or what happened instead.
fn code(elf: &Elf) -> String {
    code_with(elf, &PackOptions::default())
}

fn code_with(elf: &Elf, options: &PackOptions) -> String {
    match decide(elf, options) {
        Err(refusal) => refusal.code().to_owned(),
        Ok(PackDecision::Nothing(reason)) => format!("{reason:?}"),
        Ok(PackDecision::Pack(_)) => "packed".to_owned(),
    }
}

/// The library after an edit.
fn edited(edit: impl FnOnce(&mut Elf)) -> Elf {
    let mut elf = library();
    edit(&mut elf);
    elf
}

/// The library with another entry in its dynamic table.
fn with_tag(tag: u64, value: u64) -> Elf {
    edited(|elf| elf.edit_entries(|entries| entries.push((tag, value))))
}

#[test]
fn the_library_that_all_others_are_made_of_is_packed() {
    assert_eq!(code(&library()), "packed");
    assert_eq!(code(&gcc(&["-pie", "-DPROGRAM"])), "packed");
}

#[test]
fn what_is_no_shared_object_is_refused() {
    assert_eq!(code(&gcc(&["-c"])), "not-dynamic");
    assert_eq!(code(&gcc(&["-no-pie", "-DPROGRAM"])), "not-dynamic");
    assert_eq!(code(&gcc(&["-static", "-DPROGRAM"])), "not-dynamic");
    assert_eq!(code(&gcc(&["-static-pie", "-DPROGRAM"])), "relocates-itself");
    let loader = std::fs::read("/lib64/ld-linux-x86-64.so.2").map(Elf);
    if let Ok(loader) = loader {
        // Its relocations are RELR already in some distributions; either way it is left alone.
        assert!(["relocates-itself", "AlreadyRelr"].contains(&code(&loader).as_str()));
    }
    assert_eq!(code(&edited(|elf| elf.put(16, 2, 4))), "not-dynamic", "a core dump");
    assert_eq!(code(&edited(|elf| elf.put(18, 2, 8))), "machine", "of MIPS");
    let without_dynamic = edited(|elf| {
        let at = elf.segments(2)[0];
        elf.put(at, 4, 0);
    });
    assert_eq!(code(&without_dynamic), "no-dynamic-table");
}

#[test]
fn files_without_true_section_headers_are_refused() {
    assert_eq!(code(&edited(|elf| elf.put(40, 8, 0))), "no-sections");
    let cut = edited(|elf| {
        let length = elf.0.len() - 100;
        elf.0.truncate(length);
    });
    assert_eq!(code(&cut), "sections-lie");
    let moved = edited(|elf| {
        let header = elf.section(".rela.dyn").unwrap();
        let size = elf.word(header + 32);
        elf.put(header + 32, 8, size - 24);
    });
    assert_eq!(code(&moved), "table-is-no-section");
    assert_eq!(code(&gcc(&["-shared", "-Wl,-z,nocombreloc"])), "table-is-no-section");
    let overlapping = edited(|elf| {
        let (symbols, strings) = (elf.section(".symtab").unwrap(), elf.section(".strtab").unwrap());
        let offset = elf.word(symbols + 24);
        elf.put(strings + 24, 8, offset + 1);
    });
    assert_eq!(code(&overlapping), "sections-lie");
}

#[test]
fn files_that_others_have_edited_are_refused() {
    let elfhack = edited(|elf| {
        let names = elf.content(".shstrtab");
        let at = elf.0[names.clone()].windows(9).position(|name| name == b".comment\0").unwrap();
        elf.0[names.start + at..names.start + at + 9].copy_from_slice(b".elfhack\0");
    });
    assert_eq!(code(&elfhack), "packed-by-other");
    assert_eq!(code(&with_tag(36 | 0x0800_0000, 0)), "packed-by-other", "relrhack");
    assert_eq!(code(&with_tag(0x6000_0011, 0)), "android-packed");
    assert_eq!(code(&with_tag(0x6fff_fdf5, 1)), "prelinked");
}

#[test]
fn relocations_that_packing_would_change_are_refused() {
    let text = "asm(\".text; .quad here; here: .previous\");";
    let with_text = gcc(&["-shared", "-Wl,-z,notext", "-include", write_header(text).to_str().unwrap()]);
    assert_eq!(code(&with_text), "text-relocations");
    let read_only = edited(|elf| {
        let writable = *elf.segments(1).last().unwrap();
        elf.put(writable + 4, 4, 4);
    });
    assert_eq!(code(&read_only), "not-writable");
    let record = |elf: &Elf| elf.offset(elf.tag(RELA).unwrap());
    for distance in [0, 4] {
        let overlapping = edited(|elf| {
            let at = record(elf);
            let first = elf.word(at);
            elf.put(at + 24, 8, first + distance);
        });
        assert_eq!(code(&overlapping), "overlapping-relocations", "{distance} bytes apart");
    }
    let pointer = edited(|elf| {
        let (at, table) = (record(elf), elf.tag(SYMTAB).unwrap());
        elf.put(at + 16, 8, table + 24);
    });
    assert_eq!(code(&pointer), "pointed-to");
    let mixed = edited(|elf| {
        let table = elf.tag(RELA).unwrap();
        elf.edit_entries(|entries| entries.extend([(REL, table), (RELSZ, 16)]));
    });
    assert_eq!(code(&mixed), "mixed-forms");
}

fn write_header(text: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("coldstart-header-{}.h", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn what_points_into_the_tables_is_refused() {
    let table = library().tag(SYMTAB).unwrap();
    assert_eq!(code(&with_tag(0x6fff_ab00, table + 8)), "unknown-pointer");
    assert_eq!(code(&with_tag(STRTAB, table)), "repeated-tag");
    let symbol = edited(|elf| {
        let at = elf.offset(table);
        let last = at + elf.content(".dynsym").len() - 24;
        assert!(elf.number(last + 6, 2) != 0, "the last symbol is defined");
        elf.put(last + 8, 8, table);
    });
    assert_eq!(code(&symbol), "symbol-in-tables");
}

#[test]
fn bytes_that_no_section_covers_are_refused() {
    assert_eq!(code(&edited(|elf| elf.0.extend(b"PK\x05\x06 an archive"))), "payload");
    let behind_zeros = edited(|elf| elf.0.extend([&[0; 5000][..], b"#!/bin/sh"].concat()));
    assert_eq!(code(&behind_zeros), "payload");
    // Between the tables and the code, in the page that the linker left empty.
    let in_gap = edited(|elf| {
        let end =
            elf.content(".rela.dyn").end.max(elf.section(".rela.plt").map_or(0, |_| elf.content(".rela.plt").end));
        assert!(elf.0[end..end + 8].iter().all(|byte| *byte == 0));
        elf.put(end, 8, 0x1234);
    });
    assert_eq!(code(&in_gap), "payload");
}

#[test]
fn loaders_that_may_not_know_relr_are_refused() {
    let floor = |floor: &str| PackOptions { libc_floor: Some(floor.parse().unwrap()), ..PackOptions::default() };
    for (version, expected) in [
        ("2.35", "loader-too-old"),
        ("glibc-2.17", "loader-too-old"),
        ("musl-1.2.3", "loader-too-old"),
        ("android-28", "loader-too-old"),
        ("2.36", "packed"),
        ("musl-1.2.4", "packed"),
    ] {
        assert_eq!(code_with(&library(), &floor(version)), expected, "{version}");
    }
    let refusal = decide(&library(), &floor("2.35")).unwrap_err();
    assert_eq!(refusal, Refusal::LoaderTooOld { floor: LibcFloor::Glibc(2, 35), first: LibcFloor::Glibc(2, 36) });
    let of_musl = gcc(&[
        "-pie",
        "-DPROGRAM",
        "-nostartfiles",
        "-nodefaultlibs",
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1",
    ]);
    assert_eq!(code(&of_musl), "libc-unknown");
    assert_eq!(code_with(&of_musl, &floor("musl-1.2.4")), "packed");
}

#[test]
fn a_full_dynamic_table_is_refused() {
    let mut full = edited(|elf| {
        let (_, size) = elf.dynamic();
        let capacity = size / 16;
        elf.edit_entries(|entries| {
            while entries.len() + 1 < capacity {
                entries.push((0x6000_1000 + entries.len() as u64, 0));
            }
        });
    });
    // DT_RELACOUNT goes, DT_FINI of a function that does nothing, and DT_INIT of one that may only start profiling.
    let Ok(PackDecision::Pack(plan)) = decide(&full, &PackOptions::default()) else { panic!("{}", code(&full)) };
    assert_eq!(plan.summary.slots, [SlotSource::RelativeCount, SlotSource::EmptyFunction, SlotSource::ProfilingOnly]);
    let packed = plan.script.to_vec(&full.0).unwrap();
    prove(Source::in_memory(&full.0), Source::in_memory(&packed)).unwrap();
    // An initialiser that does anything else stays.
    let init = full.content(".init");
    full.0[init.end - 2] ^= 1;
    let refusal = decide(&full, &PackOptions::default()).unwrap_err();
    assert_eq!(refusal, Refusal::NoDynamicSlot { needed: 3, found: 2 });
    let hint = refusal.hint().unwrap();
    assert!(hint.contains("--drop-syment"), "{hint}");
    let options = PackOptions { drop_syment: true, ..PackOptions::default() };
    assert_eq!(code_with(&full, &options), "packed");
}

#[test]
fn version_tables_that_cannot_grow_are_refused() {
    let last = edited(|elf| {
        let at = elf.offset(elf.tag(VERNEED).unwrap());
        let first_version = at + elf.number(at + 8, 4) as usize;
        elf.put(first_version + 6, 2, 0x7ffe);
    });
    assert_eq!(code(&last), "no-version-number");
}

#[test]
fn damaged_segments_are_refused() {
    let overlapping = edited(|elf| {
        let loads = elf.segments(1);
        let address = elf.word(loads[1] + 16);
        elf.put(loads[2] + 16, 8, address);
    });
    assert_eq!(code(&overlapping), "layout");
    let alignment = edited(|elf| {
        let load = elf.segments(1)[1];
        elf.put(load + 48, 8, 0x3000);
    });
    assert_eq!(code(&alignment), "layout");
}

#[test]
fn nothing_to_do_is_no_refusal() {
    let packed_by_linker = gcc(&["-shared", "-Wl,-z,pack-relative-relocs"]);
    assert_eq!(code(&packed_by_linker), format!("{:?}", NothingToPack::AlreadyRelr));
    let few = gcc(&["-shared", "-DFEW"]);
    assert!(code(&few).starts_with("NoGain"), "{}", code(&few));
    let none = gcc(&["-shared", "-nostdlib", "-DFEW", "-DNONE"]);
    assert_eq!(code(&none), "NoRelative");
}

#[test]
fn large_alignment_leaves_a_hole_only() {
    let aligned = gcc(&["-shared", "-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code"]);
    assert!(code(&aligned).starts_with("NoGain"), "{}", code(&aligned));
    let options = PackOptions { sparse: true, ..PackOptions::default() };
    let Ok(PackDecision::Pack(plan)) = decide(&aligned, &options) else { panic!("{}", code_with(&aligned, &options)) };
    let packed = plan.script.to_vec(&aligned.0).unwrap();
    prove(Source::in_memory(&aligned.0), Source::in_memory(&packed)).unwrap();
}

#[test]
fn files_cut_anywhere_are_refused() {
    let whole = library().0;
    for length in (0..whole.len()).step_by(97) {
        let Ok(file) = ElfFile::parse(&whole[..length]) else { continue };
        let decision = plan_pack(&file, &PackOptions::default());
        assert!(matches!(decision, Err(_) | Ok(PackDecision::Nothing(_))), "cut at {length}");
    }
}
