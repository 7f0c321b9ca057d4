//! Files that are cut off, contradict themselves, or are no libraries at all: each has one exact outcome, a result
//! that is as sound as that of the whole file, or a refusal that explains itself. Needs gcc, `ar`, `strip` and
//! `objcopy` (packages `gcc`, `binutils`, `libc6-dev`).

use std::path::Path;
use std::process::Command;

use coldstart_elf::{ElfError, ElfFile, SegmentKind, Tag, VersionTable, build_id};
use coldstart_inspect::{Inspection, Object, ObjectKind, Offers, Refusal, Wants, inspect};
use coldstart_testing::{SHARING_SYMBOLS, library_of_one_name};

use crate::built::{build, folder, readelf, run, shared_object};
use crate::by_hand::Form;
use crate::changed::{
    FILE_TYPE, SECTION_COUNT, SECTION_HEADER, SECTION_INFO, SECTION_NAMES_INDEX, SECTION_SIZE, SECTIONS_OFFSET,
    SEGMENT_COUNT, section_headers, with, with_dynamic, without_sections,
};

const SOURCE: &str = r#"
    #include <stdio.h>
    static int variable;
    int *pointers[] = { &variable, &variable, &variable };
    int exported(void) { return printf("%d", *pointers[1]); }
    __attribute__((constructor)) static void first(void) { puts("first"); }
    __attribute__((constructor)) static void second(void) { puts("second"); }
    int main(void) { return exported(); }
"#;

fn library(folder: &Path) -> Vec<u8> {
    let path = shared_object(folder, "libodd.so", SOURCE, &["-Wl,--build-id=sha1", "-Wl,-soname,libodd.so"]);
    std::fs::read(path).unwrap()
}

fn look(bytes: &[u8]) -> Result<Inspection, Refusal> {
    let file = ElfFile::parse(bytes)?;
    Ok(inspect(&Object::read(file, None)?))
}

fn refusal(bytes: &[u8]) -> String {
    look(bytes).expect_err("it is refused").to_string()
}

/// What the loader's tables tell, whether there are sections or not.
#[derive(Debug, PartialEq)]
struct Loaded {
    relocations: coldstart_inspect::Relocations,
    initialisers: Vec<(Option<u64>, Option<u64>)>,
    kind: ObjectKind,
    build_id: Option<String>,
    symbols: Vec<(Vec<u8>, coldstart_elf::Symbol)>,
    needed: Vec<u64>,
}

fn loaded(bytes: &[u8]) -> Loaded {
    let object = Object::read(ElfFile::parse(bytes).unwrap(), None).unwrap();
    let found = inspect(&object);
    let functions = &found.parts.initialisers.functions;
    assert_eq!(found.object.build_id, build_id(&object.file).map(|id| id.to_string()));
    Loaded {
        relocations: found.parts.relocations,
        initialisers: functions.iter().map(|function| (function.slot_address, function.address)).collect(),
        kind: found.object.kind,
        build_id: found.object.build_id,
        symbols: object
            .dynamic_symbols
            .iter()
            .map(|symbol| (object.dynamic_symbols.name(&symbol).to_vec(), symbol))
            .collect(),
        needed: object.dynamic.iter().flat_map(|dynamic| dynamic.all(Tag::NEEDED)).collect(),
    }
}

fn section_problem(bytes: &[u8]) -> Option<String> {
    look(bytes).unwrap().object.section_problem
}

#[test]
fn a_library_cut_off_is_refused_or_read_as_far_as_the_loader_reads_it() {
    let folder = folder();
    let whole = library(folder.path());
    let file = ElfFile::parse(&whole).unwrap();
    let size = whole.len();
    let headers = 64 + file.segments().len() * 56;
    let dynamic = file.segment(SegmentKind::Dynamic).unwrap();
    let dynamic_end = (dynamic.offset.0 + dynamic.file_size) as usize;
    let sections = file.header().sections_offset.0;
    let section_bytes = file.sections().len() * SECTION_HEADER;
    let at_ends = [1, 4, 15, 16, 63, 64, headers - 1, headers, dynamic_end - 1, dynamic_end];
    let places = at_ends.into_iter().chain((1..=10).map(|part| size * part / 11));
    for length in places {
        let cut = &whole[..length];
        let expected = match length {
            0..4 => "not an ELF file: unknown file type".to_owned(),
            4..16 => format!(
                "the ELF header (16 bytes at file offset 0x0) extends past the end of the file ({length} bytes)"
            ),
            16..64 => format!(
                "the ELF header (64 bytes at file offset 0x0) extends past the end of the file ({length} bytes)"
            ),
            length if length < headers => format!(
                "the program header table ({} bytes at file offset 0x40) extends past the end of the file ({length} bytes)",
                headers - 64
            ),
            length if length < dynamic_end => format!(
                "the dynamic table ({} bytes at file offset {}) extends past the end of the file ({length} bytes)",
                dynamic.file_size, dynamic.offset
            ),
            _ => {
                let problem = format!(
                    "the section header table ({section_bytes} bytes at file offset {sections:#x}) extends past the end of the file ({length} bytes)"
                );
                assert_eq!(section_problem(cut), Some(problem));
                assert_eq!(loaded(cut).relocations.by_type, loaded(&whole).relocations.by_type);
                assert_eq!(loaded(cut).symbols, loaded(&whole).symbols);
                continue;
            }
        };
        assert_eq!(refusal(cut), expected, "cut off after {length} bytes");
    }
}

#[test]
fn sections_that_lie_do_not_change_what_the_loader_sees() {
    let folder = folder();
    let whole = library(folder.path());
    let truth = loaded(&whole);
    let (start, count) = section_headers(&whole);
    assert!(truth.relocations.count > 5 && truth.initialisers.len() >= 2 && truth.symbols.len() > 5);

    let size = whole.len();
    let beyond = with(&whole, SECTIONS_OFFSET, 8, 1 << 40);
    let problem = |needed: usize, offset: u64| {
        format!(
            "the section header table ({needed} bytes at file offset {offset:#x}) extends past the end of the file ({size} bytes)"
        )
    };
    assert_eq!(section_problem(&beyond), Some(problem(count * SECTION_HEADER, 1 << 40)));
    assert_eq!(loaded(&beyond), truth);

    let too_many = with(&whole, SECTION_COUNT, 2, 0xfeff);
    assert_eq!(section_problem(&too_many), Some(problem(0xfeff * SECTION_HEADER, start as u64)));
    assert_eq!(loaded(&too_many), truth);

    // Sections left out are not missed.
    let too_few = with(&with(&whole, SECTION_COUNT, 2, 3), SECTION_NAMES_INDEX, 2, 0);
    assert_eq!(section_problem(&too_few), None);
    assert_eq!(loaded(&too_few), truth);

    let no_names = with(&whole, SECTION_NAMES_INDEX, 2, 0xfe00);
    assert_eq!(section_problem(&no_names), None);
    assert!(ElfFile::parse(&no_names).unwrap().sections().iter().all(|section| section.name.is_empty()));
    assert_eq!(loaded(&no_names), truth);

    for false_size in [0, 1, 1 << 40, u64::MAX] {
        let sizes = (0..count).fold(whole.clone(), |bytes, index| {
            with(&bytes, start + index * SECTION_HEADER + SECTION_SIZE, 8, false_size)
        });
        assert_eq!(section_problem(&sizes).is_some(), false_size > 1, "{false_size}");
        assert_eq!(loaded(&sizes), truth, "all sections have {false_size} bytes");
    }
}

#[test]
fn files_without_section_headers_tell_the_same() {
    let folder = folder();
    let library = library(folder.path());
    let old_hash =
        std::fs::read(shared_object(folder.path(), "libold.so", SOURCE, &["-Wl,--hash-style=sysv"])).unwrap();
    let program = std::fs::read(build(folder.path(), "program", SOURCE, &[])).unwrap();
    let export = std::fs::read(build(folder.path(), "plugin", SOURCE, &["-rdynamic", "-Wl,-z,now"])).unwrap();
    for bytes in [&library, &old_hash, &program, &export] {
        let stripped = without_sections(bytes);
        assert_eq!(ElfFile::parse(&stripped).unwrap().sections(), []);
        assert_eq!(section_problem(&stripped), None);
        assert_eq!(loaded(&stripped), loaded(bytes));
    }
}

#[test]
fn section_zero_holds_the_number_of_many_segments() {
    let folder = folder();
    let whole = library(folder.path());
    let (start, _) = section_headers(&whole);
    let segments = ElfFile::parse(&whole).unwrap().segments().len() as u64;
    let elsewhere = with(&whole, SEGMENT_COUNT, 2, 0xffff);
    let right = with(&elsewhere, start + SECTION_INFO, 4, segments);
    assert_eq!(loaded(&right), loaded(&whole));
    let wrong = with(&elsewhere, start + SECTION_INFO, 4, u64::from(u32::MAX));
    let refused = |count: u64| {
        let (needed, size) = (count * 56, whole.len());
        format!(
            "the program header table ({needed} bytes at file offset 0x40) extends past the end of the file ({size} bytes)"
        )
    };
    assert_eq!(refusal(&wrong), refused(u64::from(u32::MAX)));
    assert_eq!(refusal(&without_sections(&elsewhere)), refused(0xffff));
}

#[test]
fn tables_outside_of_segments_are_refused_with_their_place() {
    let folder = folder();
    let whole = library(folder.path());
    let file = ElfFile::parse(&whole).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let at = |tag| dynamic.get(tag).unwrap();
    let refused = |table: &str, size: u64, address: u64| {
        format!("{table} ({size} bytes at address {address:#x}) is not within the file part of one segment")
    };
    for size in [whole.len() as u64 + 24, 1 << 40, u64::MAX] {
        let huge = with_dynamic(&whole, Tag::RELASZ, size);
        assert_eq!(refusal(&huge), refused("DT_RELA", size, at(Tag::RELA)));
        let huge = with_dynamic(&whole, Tag::STRSZ, size);
        assert_eq!(refusal(&huge), refused("the dynamic string table", size, at(Tag::STRTAB)));
    }
    let lost = with_dynamic(&whole, Tag::RELA, u64::MAX);
    assert_eq!(refusal(&lost), refused("DT_RELA", at(Tag::RELASZ), u64::MAX));

    // What makes no whole record is counted in bytes, and not as a record.
    let uneven = loaded(&with_dynamic(&whole, Tag::RELASZ, at(Tag::RELASZ) - 5)).relocations;
    let even = loaded(&whole).relocations;
    assert_eq!((uneven.count, uneven.bytes), (even.count - 1, even.bytes - 5));
}

#[test]
fn version_lists_that_lead_back_or_away_end() {
    let folder = folder();
    let whole = library(folder.path());
    let file = ElfFile::parse(&whole).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let table = file.offset_of(coldstart_elf::Vaddr(dynamic.get(Tag::VERNEED).unwrap())).unwrap().0 as usize;
    let versions = |bytes: &[u8]| -> Result<usize, String> {
        let file = ElfFile::parse(bytes).unwrap();
        let dynamic = file.dynamic().unwrap().unwrap();
        let table = VersionTable::parse(&file, &dynamic).map_err(|problem| problem.to_string())?;
        Ok(table.needed().len())
    };
    assert_eq!(versions(&whole), Ok(1));
    let many = with_dynamic(&whole, Tag::VERNEEDNUM, u64::MAX);
    assert_eq!(versions(&many), Ok(1));
    // Distances are without sign: what would lead back by 16 bytes leads out of the segment.
    let back = with(&many, table + 12, 4, u64::from(u32::MAX - 15));
    let place = table as u64 + u64::from(u32::MAX - 15);
    let problem =
        |at: u64| format!("the table of needed versions at file offset {at:#x}: the entry is not within the segment");
    assert_eq!(versions(&back), Err(problem(place)));
    // The file's record is its own first version, of 65535: no distance leads on from there.
    let itself = with(&with(&many, table + 8, 4, 0), table + 2, 2, 0xffff);
    assert_eq!(versions(&itself), Ok(1));
    for bytes in [&many, &back, &itself] {
        assert_eq!(loaded(bytes).relocations, loaded(&whole).relocations);
    }
}

#[test]
fn every_class_and_byte_order_is_read() {
    let forms = [
        ("x86-64", Form { is_64: true, is_big: false, machine: 62, relative: 8 }, true),
        ("i386", Form { is_64: false, is_big: false, machine: 3, relative: 8 }, false),
        ("s390", Form { is_64: true, is_big: true, machine: 22, relative: 12 }, true),
        ("ppc", Form { is_64: false, is_big: true, machine: 20, relative: 22 }, true),
        ("arm", Form { is_64: false, is_big: true, machine: 40, relative: 23 }, false),
    ];
    for (machine, form, has_addends) in forms {
        // Segments that lie over one another are what the last one makes of them: here, the same.
        for loads in [1, 2, 5] {
            let bytes = form.library(has_addends, loads);
            let found = look(&bytes).unwrap();
            assert_eq!(found.object.machine, machine);
            assert_eq!((found.object.bits == 64, found.object.is_big_endian), (form.is_64, form.is_big));
            let relocations = &found.parts.relocations;
            let record = if form.is_64 { 8 } else { 4 } * if has_addends { 3 } else { 2 };
            assert_eq!(
                (relocations.count, relocations.bytes, relocations.with_symbol),
                (3, 3 * record, 0),
                "{machine}"
            );
            let kinds: Vec<_> = relocations.by_type.iter().map(|kind| (kind.number, kind.is_relative)).collect();
            assert_eq!(kinds, [(form.relative, true)], "{machine}");
        }
        let bytes = form.library(has_addends, 0);
        assert_eq!(refusal(&bytes), "not loadable: no loadable segment");
    }
}

#[test]
fn segments_that_overlap_are_what_the_last_one_maps() {
    let form = Form { is_64: true, is_big: false, machine: 62, relative: 8 };
    let bytes = form.library(true, 2);
    // The second segment maps its file bytes from another place over the tables: there is nothing but zeros.
    let second = 64 + 56 * 2;
    let moved = with(&with(&bytes, second + 8, 8, 0x480), second + 32, 8, 0x80);
    let text = "DT_RELA (72 bytes at address 0x300) is not within the file part of one segment";
    assert_eq!(refusal(&moved), text);
}

#[test]
fn files_that_the_loader_does_not_load_are_refused() {
    let folder = folder();
    let whole = library(folder.path());
    let object = build(folder.path(), "odd.o", SOURCE, &["-c"]);
    let relocatable = "relocatable object (a kernel module or an `.o` file): not loaded by the dynamic loader";
    assert_eq!(refusal(&std::fs::read(&object).unwrap()), relocatable);
    let core = with(&whole, FILE_TYPE, 2, 4);
    assert_eq!(refusal(&core), "core dump");
    let unknown = with(&whole, FILE_TYPE, 2, 0xfe01);
    assert_eq!(refusal(&unknown), "not loadable: undefined file type");
    // As of a compiled module of Guile.
    let none = with(&whole, FILE_TYPE + 2, 2, 0);
    assert_eq!(refusal(&none), "not loadable: of no architecture");

    let debug = folder.path().join("libodd.debug");
    run(Command::new("objcopy").arg("--only-keep-debug").arg(folder.path().join("libodd.so")).arg(&debug));
    let debug_only = "debug information only: its segments are empty";
    assert_eq!(refusal(&std::fs::read(debug).unwrap()), debug_only);

    let archive = folder.path().join("libodd.a");
    run(Command::new("ar").arg("rcs").arg(&archive).arg(&object));
    let texts: [(&[u8], &str); 4] = [
        (b"", "not an ELF file: an empty file"),
        (b"#!/bin/sh\nexit 0\n", "not an ELF file: a script"),
        (b"/* GNU ld script */\nGROUP ( /lib/libc.so.6 )\n", "not an ELF file: text"),
        (&std::fs::read(archive).unwrap(), "not an ELF file: an archive (a static library or a package)"),
    ];
    for (bytes, expected) in texts {
        assert_eq!(refusal(bytes), expected);
    }
    let script = Path::new("/usr/lib/x86_64-linux-gnu/libc.so");
    if script.exists() {
        assert_eq!(refusal(&std::fs::read(script).unwrap()), "not an ELF file: text");
    }
}

#[test]
fn static_programs_are_counted_by_their_own_tables() {
    let folder = folder();
    for (name, option, kind) in [
        ("fixed", "-static", ObjectKind::StaticProgram),
        ("anywhere", "-static-pie", ObjectKind::StaticPositionIndependentProgram),
    ] {
        let path = build(folder.path(), name, SOURCE, &[option]);
        let bytes = std::fs::read(&path).unwrap();
        let found = loaded(&bytes);
        let text = readelf(&["-r"], &path);
        let rows = text.lines().filter(|line| line.contains(" R_")).count() as u64;
        assert!(rows > 5, "{text}");
        assert_eq!((found.kind, found.relocations.count), (kind, rows), "{name}");
        let own = |name: &str| crate::built::address(&path, name);
        for function in ["first", "second"] {
            assert!(found.initialisers.iter().any(|(_, address)| *address == Some(own(function))), "{name} {function}");
        }
        // A program at fixed addresses knows its relocations by symbols alone, which are sections' business.
        let stripped = loaded(&without_sections(&bytes));
        let expected = if option == "-static" { 0 } else { rows };
        assert_eq!((stripped.relocations.count, stripped.build_id), (expected, found.build_id), "{name}");
    }
}

#[test]
fn names_that_share_their_bytes_do_not_take_more_memory_than_the_file() {
    // 64 GB, of a file of 2 MB.
    let many = look(&coldstart_testing::library_that_needs(&vec![b'x'; 1 << 20], 1 << 16)).unwrap();
    let layout = many.parts.layout;
    assert!(layout.problems.iter().any(|problem| problem.contains("overlap")), "{:?}", layout.problems);
    assert!(layout.names.needed.len() < 10);
}

#[test]
fn symbols_that_share_a_long_name_take_no_more_time_than_the_file() {
    let bytes = library_of_one_name();
    let file = ElfFile::parse(&bytes).unwrap();
    let offers = Offers::of(&file).unwrap();
    // They are too many to be copied, for finding out what is unused.
    assert_eq!(Wants::of(&file).unwrap_err(), ElfError::OverlappingNames);
    assert!(!offers.any(&Wants::of(&ElfFile::parse(&library(folder().path())).unwrap()).unwrap()));
    let found = look(&bytes).unwrap();
    assert!(found.parts.relocations.with_symbol as usize >= 2 * SHARING_SYMBOLS);
}
