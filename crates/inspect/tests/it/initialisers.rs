//! The order of initialisers: what the tables say is what small programs print when they run.

use std::path::Path;
use std::process::Command;

use coldstart_elf::{ElfFile, Tag};
use coldstart_inspect::{Initialiser, InitialiserKind, Initialisers, NameSource, Object, SizeSource, initialisers};

use crate::built::{address, build, folder, run, shared_object, with_object};

/// Functions that print their own names without the help of the C library's buffers, which are not set up so early.
const PRINTING: &str = r#"
#include <unistd.h>
#define SAY(name) { static const char line[] = #name "\n"; if (write(1, line, sizeof line - 1) < 0) _exit(1); }
#define RUNS(name, where) where void run_##name(void) SAY(run_##name)
RUNS(late, __attribute__((constructor)))
RUNS(third, __attribute__((constructor(300))))
RUNS(first, __attribute__((constructor(101))))
RUNS(later, __attribute__((constructor)))
RUNS(second, __attribute__((constructor(102))))
RUNS(init,)
RUNS(before_all,)
"#;
const PREINIT: &str = r#"
__attribute__((section(".preinit_array"), used)) static void (*before_all)(void) = run_before_all;
"#;
const MAIN: &str = "int main(void) { return 0; }\n";

fn found(path: &Path) -> Initialisers {
    with_object(path, initialisers)
}

/// The names of those functions that print.
fn names(initialisers: &Initialisers) -> Vec<String> {
    let names = initialisers.functions.iter().filter_map(|function| function.name.clone());
    names.filter(|name| name.starts_with("run_")).collect()
}

fn printed(path: &Path) -> Vec<String> {
    run(&mut Command::new(path)).lines().map(str::to_owned).collect()
}

fn named<'found>(found: &'found Initialisers, name: &str) -> &'found Initialiser {
    found.functions.iter().find(|function| function.mangled_name.as_deref() == Some(name)).unwrap()
}

#[test]
fn a_program_runs_them_in_the_order_that_is_told() {
    let folder = folder();
    let source = [PRINTING, PREINIT, MAIN].concat();
    let variants: [(&str, &[&str]); 5] = [
        ("pie", &["-Wl,-init=run_init"]),
        ("fixed", &["-no-pie", "-Wl,-init=run_init"]),
        ("relr", &["-Wl,-init=run_init", "-Wl,-z,pack-relative-relocs"]),
        ("static", &["-static"]),
        ("static-pie", &["-static-pie"]),
    ];
    for (name, arguments) in variants {
        let program = build(folder.path(), name, &source, arguments);
        let found = found(&program);
        assert_eq!(names(&found), printed(&program), "{name}");
        assert!(names(&found).len() >= 6, "{name}: {found:?}");
        assert!(found.problems.is_empty() && found.ignored_preinit_entries == 0, "{name}: {found:?}");
        let first = named(&found, "run_first");
        assert_eq!(first.kind, InitialiserKind::InitArray);
        assert_eq!(first.address, Some(address(&program, "run_first")), "{name}");
        assert_eq!(first.bytes_are_from, Some(SizeSource::Symbol), "{name}");
        assert_eq!(first.name_is_from, Some(NameSource::SymbolTable), "{name}");
        assert_eq!(first.page, first.file_offset.map(|offset| offset / 4096));
        assert_eq!(named(&found, "run_before_all").kind, InitialiserKind::PreinitArray);
        // GNU ld puts functions in the order of the source, and they run in another.
        assert!(found.totals.backward_jumps >= 1, "{name}: {:?}", found.totals);
        assert_eq!(found.totals.count, found.functions.len() as u64);
    }
}

#[test]
fn the_table_of_constructors_runs_from_its_end() {
    let folder = folder();
    // Today's linkers put this table into the other one, except what comes from a file of gcc's own, known by its name.
    let table = r#"
        .section .ctors, "aw", @progbits
        .globl ctors_begin
        ctors_begin: .quad -1, run_late, run_later, run_third
        .quad 0
        .section .init, "ax", @progbits
        call walk
    "#;
    let own = folder.path().join("crtbegin.o");
    std::fs::rename(build(folder.path(), "table.s.o", table, &["-c"]), &own).unwrap();
    let walk = r#"
        extern void (*ctors_begin[])(void);
        void walk(void) { for (int index = 3; index > 0; index--) ctors_begin[index](); }
    "#;
    let source = [&PRINTING.replace("__attribute__((constructor))", ""), walk, MAIN].concat();
    for (name, argument) in [("pie", "-pie"), ("fixed", "-no-pie"), ("static", "-static")] {
        let program = build(folder.path(), name, &source, &[argument, own.to_str().unwrap()]);
        let found = found(&program);
        assert_eq!(names(&found), printed(&program), "{name}");
        assert_eq!(names(&found), ["run_third", "run_later", "run_late", "run_first", "run_second", "run_third"]);
        assert_eq!(named(&found, "run_late").kind, InitialiserKind::Ctors);
        assert_eq!(found.functions.first().unwrap().kind, InitialiserKind::Init);
        assert_eq!(found.empty_entries, 0, "the sentinels are no entries");
    }
}

#[test]
fn names_are_readable_and_stripped_files_have_sizes() {
    let folder = folder();
    let source = r#"
        struct Greeter { Greeter(int times); int times; };
        int seed();
        namespace outer { __attribute__((constructor)) static void prepare() { seed(); seed(); } }
        Greeter global(seed());
    "#;
    let library = build(folder.path(), "library.cc", source, &["-shared", "-fPIC"]);
    let whole = found(&library);
    let prepare = named(&whole, "_ZN5outerL7prepareEv");
    assert_eq!(prepare.name.as_deref(), Some("outer::prepare"));
    let stripped = folder.path().join("stripped");
    run(Command::new("strip").arg(&library).arg("-o").arg(&stripped));
    let stripped = found(&stripped);
    let in_array = |found: &Initialisers| -> Vec<Initialiser> {
        found.functions.iter().filter(|function| function.kind == InitialiserKind::InitArray).cloned().collect()
    };
    assert_eq!(in_array(&whole).len(), 3, "frame_dummy and ours: {whole:?}");
    for (with_name, without) in in_array(&whole).iter().zip(in_array(&stripped)).filter(|(whole, _)| {
        whole.name.as_deref().is_some_and(|name| name.contains("prepare") || name.contains("GLOBAL"))
    }) {
        assert_eq!((without.address, without.file_offset), (with_name.address, with_name.file_offset));
        assert_eq!((without.bytes, without.bytes_are_from), (with_name.bytes, Some(SizeSource::UnwindTable)));
        assert_eq!((&without.name, without.name_is_from), (&None, None));
    }
    assert_eq!(whole.totals.backward_jump_bytes, stripped.totals.backward_jump_bytes);
}

#[test]
fn functions_of_other_objects_have_a_name_only() {
    let folder = folder();
    let source = r#"
        extern void elsewhere(void);
        void own(void) {}
        __attribute__((section(".init_array"), used)) static void (*table[])(void) = { elsewhere, own, 0 };
    "#;
    let library = shared_object(folder.path(), "library", source, &["-nostdlib"]);
    let found = found(&library);
    let [elsewhere, own] = &found.functions[..] else { panic!("{found:?}") };
    assert_eq!((elsewhere.name.as_deref(), elsewhere.address), (Some("elsewhere"), None));
    assert_eq!(elsewhere.name_is_from, Some(NameSource::DynamicSymbols));
    assert_eq!((own.name.as_deref(), own.address), (Some("own"), Some(address(&library, "own"))));
    assert_eq!(found.empty_entries, 1);
    assert_eq!(found.totals.functions_of_unknown_size, 1);
}

#[test]
fn thirty_two_bits_are_read_too() {
    let folder = folder();
    let source = "void one(void) {} void two(void) {}\n\
        __attribute__((section(\".init_array\"), used)) static void (*table[])(void) = { two, one };\n";
    let hidden = ["-m32", "-nostdlib", "-fvisibility=hidden"];
    let library = shared_object(folder.path(), "library", source, &hidden);
    let found = found(&library);
    let addresses: Vec<u64> = found.functions.iter().filter_map(|function| function.address).collect();
    assert_eq!(addresses, [address(&library, "two"), address(&library, "one")]);
    let slots: Vec<u64> = found.functions.iter().filter_map(|function| function.slot_address).collect();
    assert_eq!(slots[1], slots[0] + 4);
}

#[test]
fn the_lowest_bit_of_an_arm_pointer_is_not_part_of_the_address() {
    let folder = folder();
    let source = "__attribute__((constructor, visibility(\"hidden\"))) void start(void) { __asm__(\"nop\"); }\n";
    let library = shared_object(folder.path(), "library", source, &["-m32", "-nostdlib"]);
    let start = address(&library, "start");
    // The same file as if it were one for ARM: its machine is 40, and its type of relative relocations 23.
    let mut bytes = std::fs::read(&library).unwrap();
    bytes[18..20].copy_from_slice(&40_u16.to_le_bytes());
    let (_, table, _) = crate::built::section(&library, ".rel.dyn").unwrap();
    assert_eq!(bytes[table as usize + 4], 8);
    bytes[table as usize + 4] = 23;
    let (_, slot, _) = crate::built::section(&library, ".init_array").unwrap();
    bytes[slot as usize] |= 1;
    let object = Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap();
    let found = initialisers(&object);
    assert_eq!(found.functions[0].address, Some(start & !1));
}

#[test]
fn a_library_is_not_asked_for_preinit_functions() {
    let folder = folder();
    // Linkers refuse such a library, so a program loses what makes it one.
    let source = [PRINTING, PREINIT, MAIN].concat();
    let program = build(folder.path(), "program", &source, &["-Wl,--no-dynamic-linker", "-Wl,-z,now"]);
    let mut bytes = std::fs::read(&program).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let index = dynamic.entries().position(|entry| entry.tag == Tag::FLAGS_1).unwrap();
    let place = dynamic.file_offset().0 as usize + index * 16 + 8;
    bytes[place..place + 8].fill(0);
    let object = Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap();
    let found = initialisers(&object);
    assert_eq!(found.ignored_preinit_entries, 1);
    assert!(!names(&found).contains(&"run_before_all".to_owned()));
}

#[test]
fn the_json_says_what_it_is() {
    let folder = folder();
    let program = build(folder.path(), "program", &[PRINTING, PREINIT, MAIN].concat(), &[]);
    let json = serde_json::to_value(found(&program)).unwrap();
    assert_eq!(json["functions"][0]["kind"], "preinit-array");
    assert_eq!(json["functions"][0]["bytes_are_from"], "symbol");
    assert!(json["totals"]["readahead_windows"].as_u64().unwrap() >= 1);
}
