//! Objects as a trace keeps them, against readelf and programs whose functions are known.

use std::collections::BTreeMap;
use std::fs;

use coldstart_elf::readable_name;
use coldstart_profile::trace::{FileId, ObjectSection};
use coldstart_symbols::{ObjectError, ObjectFile, TouchedPages, describe};

use crate::support::{
    Listed, address_of, build, described, everything, library, output, run, sections, skip, symbols,
    without_section_headers,
};

/// Two functions on pages of their own, a static one, an alias, and variables of all kinds.
const SOURCE: &str = r#"
__attribute__((aligned(4096), noinline)) int first_function(int x) { return x * 3; }
__attribute__((aligned(4096), noinline)) static int hidden_function(int x) { return x * 5 + first_function(x); }
__attribute__((aligned(4096), noinline)) int second_function(int x) { return hidden_function(x) + 1; }
int another_name_of_first(int) __attribute__((alias("first_function")));
int initialised[2048] = {1};
int zeroed[4096];
int *pointers[3] = {initialised, zeroed, &zeroed[1]};
static int counted;
__attribute__((constructor)) void counts(void) { counted++; }
"#;
const FLAGS: &[&str] = &["-O1", "-shared", "-fPIC", "-Wl,-soname,libsample.so.1", "-Wl,--build-id=sha1"];

fn listed(section: &ObjectSection) -> Listed {
    let ObjectSection { name, address, offset, size, entry_size, .. } = section.clone();
    Listed { name, address, offset, size, entry_size }
}

#[test]
fn sections_are_those_of_readelf() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    for file in
        ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3"].iter().filter_map(|name| library(name)).chain([sample])
    {
        let object = described(&file, &TouchedPages::new());
        let found: Vec<Listed> = object.sections.iter().map(listed).collect();
        assert_eq!(found, sections(&file), "{}", file.display());
        assert!(object.sections.iter().all(|section| section.is_zero_filled == (section.name == ".bss")));
        assert!(object.symbols.is_empty());
    }
}

#[test]
fn headers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let object = described(&sample, &TouchedPages::new());
    assert_eq!((object.file, object.soname.as_deref()), (FileId(7), Some("libsample.so.1")));
    assert!(object.is_64_bit);
    let notes = output("readelf", &["-n"], &sample);
    assert!(notes.contains(&format!("Build ID: {}", object.build_id.unwrap())), "{notes}");
    let loads =
        output("readelf", &["-lW"], &sample).lines().filter(|line| line.trim_start().starts_with("LOAD")).count();
    assert_eq!(object.segments.len(), loads);
}

#[test]
fn a_file_without_section_headers_has_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let bare = folder.path().join("bare");
    without_section_headers(&sample, &bare);
    let object = described(&bare, &TouchedPages::new());
    let made_up = &object.sections;
    assert!(made_up.is_sorted_by(|one, next| one.address + one.size <= next.address), "{made_up:#?}");
    let tables = [
        ".gnu.hash",
        ".dynsym",
        ".dynstr",
        ".rela.dyn",
        ".rela.plt",
        ".init_array",
        ".fini_array",
        ".dynamic",
        ".eh_frame_hdr",
    ];
    for real in sections(&sample) {
        let at = object
            .section_at(real.address)
            .unwrap_or_else(|| panic!("nothing at {:#x} for {}", real.address, real.name));
        if tables.contains(&real.name.as_str()) {
            let entry_size = if real.entry_size == 0 { at.entry_size } else { real.entry_size };
            assert_eq!(listed(at), Listed { entry_size, ..real });
        } else if [".text", ".data", ".bss", ".eh_frame"].contains(&real.name.as_str()) {
            assert_eq!(at.name, real.name, "{made_up:#?}");
            assert_eq!(
                object.section_at(real.address + real.size - 1).map(|section| &*section.name),
                Some(&*real.name)
            );
        }
    }
    let bss = made_up.iter().find(|section| section.name == ".bss").unwrap();
    assert!(bss.is_zero_filled);
    // Dynamic symbols are still there to name things.
    let symbols = described(&bare, &everything(&bare)).symbols;
    assert!(symbols.iter().any(|symbol| symbol.name == "first_function"));
}

#[test]
fn only_what_was_touched_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let object = described(&sample, &TouchedPages::new());
    let [first, second, zeroed] = ["first_function", "second_function", "zeroed"].map(|name| address_of(&sample, name));
    let text = object.section_at(first).unwrap();
    let page_of = |address: u64| (text.offset + address - text.address) / 4096;
    let names = |touched: &TouchedPages| {
        described(&sample, touched).symbols.into_iter().map(|symbol| symbol.name).collect::<Vec<String>>()
    };
    let mut touched = TouchedPages::new();
    touched.add_file_page(page_of(first));
    assert_eq!(names(&touched), ["first_function"]);
    let mut touched = TouchedPages::new();
    touched.add_code(second);
    assert_eq!(names(&touched), ["second_function"]);
    let mut touched = TouchedPages::new();
    touched.add_zero_filled_page((zeroed + 8192) / 4096);
    assert_eq!(names(&touched), ["zeroed"]);
}

#[test]
fn of_many_functions_only_those_that_did_something_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source: String = (0..200).map(|number| format!("int f{number}(int x) {{ return x + {number}; }}\n")).collect();
    let sample = build(folder.path(), "many", &(source + "int variable = 1;"), FLAGS);
    let mut touched = everything(&sample);
    touched.add_code(address_of(&sample, "f70") + 2);
    let text = described(&sample, &TouchedPages::new()).sections.into_iter().find(|section| section.name == ".text");
    let text = text.unwrap();
    touched.add_instruction(text.offset + address_of(&sample, "f80") - text.address);
    let symbols = described(&sample, &touched).symbols;
    let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).filter(|name| *name != "_init").collect();
    assert_eq!(names.iter().filter(|name| name.starts_with('f')).collect::<Vec<_>>(), [&"f70", &"f80"]);
    assert!(names.contains(&"variable"), "{names:?}");
}

#[test]
fn symbols_are_those_of_readelf() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    for file in [library("libc.so.6"), library("libstdc++.so.6"), Some(sample)].into_iter().flatten() {
        let known = symbols(&file);
        let mut touched = everything(&file);
        known.keys().for_each(|address| touched.add_code(*address));
        let object = described(&file, &touched);
        let found: BTreeMap<u64, _> = object.symbols.iter().map(|symbol| (symbol.address, symbol)).collect();
        assert_eq!(found.len(), object.symbols.len(), "an address has one name");
        assert!(object.symbols.is_sorted_by(|one, next| one.address + one.size <= next.address));
        for (address, names) in known.iter().filter(|(_, names)| names.iter().any(|(_, size, _)| *size > 0)) {
            if names.iter().all(|(name, ..)| name.starts_with("_ZTS")) {
                continue;
            }
            // A symbol may lie inside of a larger one, which has the bytes then.
            let Some(symbol) = object.symbol_at(*address) else { panic!("nothing names {address:#x}: {names:?}") };
            if symbol.address == *address && !symbol.name.starts_with("fn_") {
                let is_one_of_them = |(name, _, is_function): &(String, u64, bool)| {
                    readable_name(name.as_bytes()) == symbol.name && *is_function == symbol.is_function
                };
                assert!(names.iter().any(is_one_of_them), "{symbol:?} is none of {names:?}");
            }
        }
    }
}

#[test]
fn of_several_names_the_shortest_global_one_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let object = described(&sample, &everything(&sample));
    let symbol = object.symbol_at(address_of(&sample, "another_name_of_first") + 2).unwrap();
    assert_eq!((&*symbol.name, symbol.is_function), ("first_function", true));
}

#[test]
fn functions_of_stripped_files_go_by_their_address() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let hidden = address_of(&sample, "hidden_function");
    run("strip", &[], &sample);
    let plt =
        described(&sample, &TouchedPages::new()).sections.into_iter().find(|section| section.name == ".plt").unwrap();
    let mut touched = everything(&sample);
    assert_eq!(described(&sample, &touched).symbol_at(hidden + 1), None, "nothing refers to it");
    [hidden + 2, plt.address].into_iter().for_each(|address| touched.add_code(address));
    let object = described(&sample, &touched);
    assert_eq!(object.symbol_at(hidden + 1).unwrap().name, format!("fn_{hidden:x}"));
    assert_eq!(object.symbol_at(address_of(&sample, "second_function")).unwrap().name, "second_function");
    assert_eq!(object.symbol_at(plt.address), None, "a PLT is no function");
}

#[test]
fn a_debug_file_gives_names() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, name) in [(&["-Wl,--build-id=sha1"][..], "identified"), (&["-Wl,--build-id=none"][..], "linked")] {
        let flags = [FLAGS, flags].concat();
        let sample = build(folder.path(), name, SOURCE, &flags);
        let hidden = address_of(&sample, "hidden_function");
        let debug = folder.path().join(format!("{name}.debug"));
        run("objcopy", &["--only-keep-debug", sample.to_str().unwrap()], &debug);
        run("strip", &[], &sample);
        run("objcopy", &[&format!("--add-gnu-debuglink={}", debug.display())], &sample);
        assert_eq!(described(&sample, &everything(&sample)).symbol_at(hidden).unwrap().name, "hidden_function");
    }
}

#[test]
fn relocations_are_counted_as_readelf_does() {
    let folder = tempfile::tempdir().unwrap();
    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    for file in [library("libc.so.6"), library("libstdc++.so.6"), Some(sample)].into_iter().flatten() {
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        for line in output("readelf", &["-rW"], &file).lines() {
            let kind = line
                .split_whitespace()
                .nth(2)
                .and_then(|kind| kind.strip_prefix("R_X86_64_").or(kind.strip_prefix("R_AARCH64_")));
            if let Some(kind) = kind {
                *known.entry(kind.to_owned()).or_default() += 1;
            }
        }
        let object = described(&file, &TouchedPages::new());
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        let mut next: BTreeMap<&str, u64> = BTreeMap::new();
        // readelf prints what the words of RELR stand for.
        for run in object.relocations.iter().filter(|run| run.table != ".relr.dyn") {
            *found.entry(run.kind.clone()).or_default() += run.count;
            assert_eq!(run.first, *next.entry(&run.table).or_default(), "runs follow one another");
            *next.get_mut(&*run.table).unwrap() += run.count;
            assert!(run.from <= run.to);
            assert_eq!(object.section_at(run.from).unwrap().name, run.section);
        }
        assert_eq!(found, known, "{}", file.display());
        for (table, count) in next {
            let section = object.sections.iter().find(|section| section.name == table).unwrap();
            assert_eq!(section.size / section.entry_size, count);
        }
    }
}

#[test]
fn words_of_relr_are_entries() {
    let folder = tempfile::tempdir().unwrap();
    let source = "static int x; int *table[500] = {[0 ... 499] = &x};";
    let sample = build(folder.path(), "sample", source, &["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"]);
    let object = described(&sample, &TouchedPages::new());
    let Some(section) = object.sections.iter().find(|section| section.name == ".relr.dyn") else {
        return skip("the linker does not write RELR");
    };
    let runs: Vec<_> = object.relocations.iter().filter(|run| run.table == ".relr.dyn").collect();
    assert_eq!(runs.iter().map(|run| run.count).sum::<u64>(), section.size / 8);
    assert!(runs.iter().any(|run| run.section.starts_with(".data") && run.kind == "RELATIVE"), "{runs:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn unsorted_tables_are_shortened_by_pages() {
    let folder = tempfile::tempdir().unwrap();
    let source = r#"__asm__(".data\nhere: .rept 15000\n.quad elsewhere\n.quad here\n.endr\n");"#;
    let file = build(folder.path(), "unsorted", source, &["-shared", "-fPIC", "-nostdlib", "-Wl,-z,nocombreloc"]);
    let object = described(&file, &TouchedPages::new());
    let runs: Vec<_> = object.relocations.iter().filter(|run| run.section == ".data").collect();
    assert_eq!(runs.iter().map(|run| run.count).sum::<u64>(), 30_000);
    // 30,000 runs of one entry each are 176 pages of the table; the linker may put a few other entries before.
    assert!((170..200).contains(&runs.len()), "{} runs", runs.len());
    let ends: Vec<u64> = runs.iter().map(|run| run.first + run.count).collect();
    assert!(runs.iter().skip(1).zip(ends).all(|(run, end)| run.first == end));
    assert!(runs.iter().skip(1).all(|run| run.first * 24 % 4096 < 24), "each begins with a page");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    assert!(matches!(ObjectFile::open(&gone), Err(ObjectError::Io { .. })));
    assert!(matches!(ObjectFile::open(folder.path()), Err(ObjectError::Io { .. })));
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let refused = describe(&ObjectFile::open(&script).unwrap(), FileId(0), &TouchedPages::new());
    assert!(matches!(refused, Err(ObjectError::Elf { .. })), "{refused:?}");

    let sample = build(folder.path(), "sample", SOURCE, FLAGS);
    let touched = everything(&sample);
    let object = ObjectFile::open(&sample).unwrap();
    fs::OpenOptions::new().write(true).open(&sample).unwrap().set_len(4096).unwrap();
    let refused = describe(&object, FileId(0), &touched);
    assert!(matches!(refused, Err(ObjectError::Shrank { .. })), "{refused:?}");
}
