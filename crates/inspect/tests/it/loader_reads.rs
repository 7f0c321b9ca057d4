//! The model of what the loader reads, on small programs whose pages are known.

use std::path::Path;

use coldstart_inspect::{LoaderReads, LoaderStep, LoaderStepReads, USUAL_READAHEAD_PAGES, loader_reads};

use crate::built::{build, folder, section, shared_object, with_object};

fn found(path: &Path, readahead_pages: u64) -> LoaderReads {
    let reads = with_object(path, |object| loader_reads(object, readahead_pages));
    let sum = |field: fn(&LoaderStepReads) -> u64| reads.steps.iter().map(field).sum::<u64>();
    assert_eq!(sum(|step| step.requests), reads.requests);
    assert_eq!(sum(|step| step.seeks), reads.seeks);
    assert_eq!(sum(|step| step.read_pages), reads.read_pages);
    assert_eq!(sum(|step| step.new_pages), reads.useful_pages);
    assert_eq!(reads.read_bytes, reads.read_pages * 4096);
    assert_eq!(reads.file_pages, std::fs::metadata(path).unwrap().len().div_ceil(4096));
    assert!(reads.useful_pages <= reads.read_pages && reads.read_pages <= reads.file_pages);
    reads
}

fn step(reads: &LoaderReads, step: LoaderStep) -> &LoaderStepReads {
    reads.steps.iter().find(|found| found.step == step).unwrap_or_else(|| panic!("{step:?} in {reads:?}"))
}

/// Pages of a section in the file, from the first to the last.
fn pages(path: &Path, name: &str) -> (u64, u64) {
    let (_, offset, size) = section(path, name).unwrap();
    (offset / 4096, (offset + size - 1) / 4096)
}

const TABLE: &str = "static int value; int *pointers[100000] = { [0 ... 99999] = &value };\n";

#[test]
fn a_small_file_is_read_whole_and_at_once() {
    let folder = folder();
    let source = "#include <stdio.h>\nint data = 1; char zeros[9]; __thread int own = 2;\n\
        __attribute__((constructor)) void start(void) {}\nint main(void) { return puts(\"\"); }\n";
    let program = build(folder.path(), "program", source, &["-Wl,-z,lazy"]);
    let reads = found(&program, USUAL_READAHEAD_PAGES);
    let steps: Vec<LoaderStep> = reads.steps.iter().map(|step| step.step).collect();
    use LoaderStep::*;
    let expected = [
        Headers,
        ZeroFill,
        DynamicTable,
        HashTable,
        Names,
        Versions,
        Relocations,
        PltRelocations,
        ThreadLocalTemplate,
        Initialisers,
    ];
    assert_eq!(steps, expected);
    // The kernel answers the first read(2) with 4 pages, which are all that there are.
    assert_eq!((reads.file_pages, reads.requests, reads.seeks), (4, 1, 1), "{reads:?}");
    let dynamic = pages(&program, ".dynamic");
    let found = step(&reads, DynamicTable);
    assert_eq!((found.first_page, found.last_page), dynamic);
    assert_eq!(step(&reads, HashTable).first_page, pages(&program, ".gnu.hash").0);
}

#[test]
fn relocation_touches_the_table_and_what_it_changes() {
    let folder = folder();
    let library = shared_object(folder.path(), "library", TABLE, &["-nostdlib"]);
    for readahead in [0, 1, 8, USUAL_READAHEAD_PAGES, 1024] {
        let reads = found(&library, readahead);
        let relocations = step(&reads, LoaderStep::Relocations);
        let (table, data) = (pages(&library, ".rela.dyn"), pages(&library, ".data"));
        assert_eq!((relocations.first_page, relocations.last_page), (table.0, data.1));
        let all = table.1 - table.0 + 1 + data.1 - data.0 + 1;
        let before: u64 =
            reads.steps.iter().take_while(|step| step.step != LoaderStep::Relocations).map(|step| step.new_pages).sum();
        assert!(relocations.new_pages <= all && relocations.new_pages + before >= all, "{reads:?}");
        if readahead == 0 {
            assert_eq!(reads.requests, reads.useful_pages);
            assert_eq!(reads.read_pages, reads.useful_pages);
            // From the table to the words and back, all the time.
            assert!(reads.seeks > 2 * (data.1 - data.0));
        }
    }
    // The larger the windows, the fewer the jumps between table and words.
    let seeks = |readahead| found(&library, readahead).seeks;
    assert!(seeks(0) > seeks(8) && seeks(8) > seeks(32) && seeks(32) > seeks(1024));
}

#[test]
fn packed_relocations_leave_nothing_to_jump_to() {
    let folder = folder();
    let plain = shared_object(folder.path(), "plain", TABLE, &["-nostdlib"]);
    let packed = shared_object(folder.path(), "packed", TABLE, &["-nostdlib", "-Wl,-z,pack-relative-relocs"]);
    let (plain, reads) = (found(&plain, 32), found(&packed, 32));
    assert!(reads.read_pages * 3 < plain.read_pages && reads.seeks * 4 < plain.seeks, "{plain:?} {reads:?}");
    let relr = step(&reads, LoaderStep::Relr);
    assert_eq!((relr.first_page, relr.last_page), (pages(&packed, ".relr.dyn").0, pages(&packed, ".data").1));
    let data = pages(&packed, ".data");
    assert!(relr.new_pages >= data.1 - data.0);
}

#[test]
fn binding_at_the_start_touches_symbols_and_names() {
    let folder = folder();
    // Long names, so that they fill pages of their own.
    let declare = |index: usize| format!("extern void function_{index}_{}(void);\n", "x".repeat(200));
    let call = |index: usize| format!("function_{index}_{}();\n", "x".repeat(200));
    let declarations: String = (0..500).map(declare).collect();
    let calls: String = (0..500).map(call).collect();
    let source = format!("{declarations}void all(void) {{ {calls} }}\n");
    let build = |name: &str, binding: &str| {
        let library = shared_object(folder.path(), name, &source, &["-nostdlib", "-fplt", binding]);
        let reads = found(&library, 32);
        (step(&reads, LoaderStep::PltRelocations).new_pages, pages(&library, ".dynstr"))
    };
    let (lazy, _) = build("lazy", "-Wl,-z,lazy");
    let (now, names) = build("now", "-Wl,-z,now");
    assert!(now >= lazy + names.1 - names.0 - 1, "{now} {lazy} {names:?}");
}

#[test]
fn static_programs_are_read_as_well() {
    let folder = folder();
    let program = build(folder.path(), "program", "int main(void) { return 0; }\n", &["-static"]);
    let reads = found(&program, 32);
    assert_eq!(reads.steps.first().unwrap().step, LoaderStep::Headers);
    assert!(reads.steps.iter().any(|step| step.step == LoaderStep::Initialisers));
    assert!(reads.steps.iter().all(|step| step.step != LoaderStep::DynamicTable));
}

#[test]
fn the_json_says_what_it_is() {
    let folder = folder();
    let program = build(folder.path(), "program", "int main(void) { return 0; }\n", &[]);
    let json = serde_json::to_value(found(&program, 32)).unwrap();
    assert_eq!(json["steps"][0]["step"], "headers");
    assert!(json["read_bytes"].as_u64().unwrap() >= 4096);
}
