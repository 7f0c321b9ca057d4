//! Findings about functions that run before the program's own.

use std::path::PathBuf;
use std::process::Command;

use coldstart_inspect::{Certainty, FindingKind, LoaderStep, Saving};

use super::{inspected, none, the};
use crate::built::{build, folder, run, shared_object};

#[test]
fn many_functions_run_before_main() {
    let folder = folder();
    let kind = FindingKind::ManyInitialisers;
    // Each begins a page, and is a few bytes long.
    let source = |count: usize| -> String {
        let function = |index| {
            format!(
                "__attribute__((constructor, aligned(4096))) static void start_{index}(void) {{ __asm__(\"nop\"); }}\n"
            )
        };
        (0..count).map(function).collect()
    };
    let library = |count| inspected(&shared_object(folder.path(), "library", &source(count), &["-nostdlib"]));
    let found = the(&library(20), kind);
    // 80 KiB of code can lie in one window of 128 KiB or two.
    let windows = found.what.strip_prefix("20 initialisers run before main, in 20 pages of code within ").unwrap();
    assert!(["1 window of 128 KiB", "2 windows of 128 KiB"].contains(&windows), "{windows}");
    assert_eq!(found.saves, Saving { read_pages: 19, ..Saving::default() }, "together they fill a part of one page");
    the(&library(16), kind);
    none(&library(15), kind);
}

#[test]
fn constant_initialisation_leaves_nothing_to_run() {
    let folder = folder();
    // One function for each priority.
    let objects: String = (0..20)
        .map(|index| format!("__attribute__((init_priority({}))) Value object_{index}({index});\n", 1000 + index))
        .collect();
    let library = |name: &str, specifier: &str, body: &str| -> PathBuf {
        let class = format!("struct Value {{ {specifier} Value(int value); int value; }};\n{specifier} {body}\n");
        build(folder.path(), name, &[class, objects.clone()].concat(), &["-shared", "-fPIC", "-nostdlib"])
    };
    let at_start = library("start.cc", "", "int seed(int); Value::Value(int value) : value(seed(value)) {}");
    let names = run(Command::new("nm").arg(&at_start));
    assert_eq!(names.matches("_GLOBAL__sub_I").count(), 20);
    let found = the(&inspected(&at_start), FindingKind::ManyInitialisers);
    assert!(found.what.starts_with("20 initialisers run before main, in 1 page of code within 1 window"), "{found:?}");
    assert_eq!(found.saves, Saving::default(), "they lie together already");
    let constant = library("constant.cc", "constexpr", "Value::Value(int value) : value(value) {}");
    none(&inspected(&constant), FindingKind::ManyInitialisers);
    assert_eq!(inspected(&constant).parts.initialisers.totals.count, 0);
}

#[test]
fn constructors_in_the_old_table_run_backwards() {
    let folder = folder();
    let kind = FindingKind::BackwardInitialisers;
    // Today's linkers put this table into the other one, except what comes from a file of gcc's own, known by its name.
    let table = |entries: &str| {
        let source = format!(
            ".section .ctors, \"aw\", @progbits\n.globl ctors_begin\nctors_begin: .quad -1, {entries}\n.quad 0\n\
             .section .init, \"ax\", @progbits\ncall walk\n.section .note.GNU-stack\n"
        );
        let own = folder.path().join("crtbegin.o");
        std::fs::rename(build(folder.path(), "table.s.o", &source, &["-c"]), &own).unwrap();
        own
    };
    let source = |alignment: u32, attribute: &str| {
        let function = |name| {
            format!("__attribute__(({attribute} aligned({alignment}))) void {name}(void) {{ __asm__(\"nop\"); }}\n")
        };
        let functions: String = ["one", "two", "three"].into_iter().map(function).collect();
        format!("{functions}void walk(void) {{}}\nint main(void) {{ return 0; }}\n")
    };
    let program = |name: &str, source: &str, entries: &str| {
        let own = table(entries);
        inspected(&build(folder.path(), name, source, &["-fno-toplevel-reorder", own.to_str().unwrap()]))
    };
    let far = program("far", &source(1 << 18, ""), "one, two, three");
    let found = the(&far, kind);
    assert_eq!(found.what, "3 initialisers in .ctors, which runs from its end to its beginning");
    let modelled = far.parts.loader_reads.steps.iter().find(|step| step.step == LoaderStep::Initialisers).unwrap();
    // From three to two, and from two to one.
    assert!((2..=3).contains(&found.saves.seeks) && found.saves.seeks <= modelled.seeks, "{found:?} {modelled:?}");
    assert_eq!((found.saves.read_pages, found.certainty), (0, Certainty::UpperBound));
    let near = program("near", &source(16, ""), "one, two, three");
    assert_eq!(the(&near, kind).saves, Saving::default(), "one read brings them all in");
    none(&program("single", &source(16, ""), "one"), kind);
    let modern = build(folder.path(), "modern", &source(1 << 18, "constructor,"), &[]);
    none(&inspected(&modern), kind);
}
