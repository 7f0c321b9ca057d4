//! Findings about relocations and the symbols that they name.

use coldstart_inspect::{Certainty, FindingKind, Saving};

use super::{inspected, none, pages, relocations, the};
use crate::built::{build, folder, section, shared_object};

const PACKED: [&str; 2] = ["-nostdlib", "-Wl,-z,pack-relative-relocs"];

fn pointers(count: usize) -> String {
    format!("static int value; int *pointers[{count}] = {{ [0 ... {}] = &value }};\n", count - 1)
}

#[test]
fn relative_relocations_that_relr_could_hold() {
    let folder = folder();
    let kind = FindingKind::UnpackedRelocations;
    let plain = shared_object(folder.path(), "plain", &pointers(1000), &["-nostdlib"]);
    let packed = shared_object(folder.path(), "packed", &pointers(1000), &PACKED);
    let (_, offset, bytes) = section(&plain, ".rela.dyn").unwrap();
    let (_, _, packed_bytes) = section(&packed, ".relr.dyn").unwrap();
    assert_eq!((relocations(&plain, "R_X86_64_RELATIVE").len(), bytes), (1000, 24_000));
    let found = the(&inspected(&plain), kind);
    assert_eq!(
        found.what,
        format!("1000 relative relocations take 24000 bytes, and {packed_bytes} bytes as RELR"),
        "as many as the linker's own table has"
    );
    assert_eq!(found.place, format!("DT_RELA at file offset {offset:#x}"));
    let saved = bytes - packed_bytes;
    assert_eq!(found.saves, Saving { file_bytes: saved, read_pages: saved / 4096, ..Saving::default() });
    none(&inspected(&packed), kind);

    // An address and three bitmaps stand for up to 190 words: 24 * n - 32 bytes are saved.
    let library = |count: usize| inspected(&shared_object(folder.path(), "few", &pointers(count), &["-nostdlib"]));
    assert_eq!(the(&library(172), kind).saves.file_bytes, 24 * 172 - 32);
    none(&library(171), kind);
}

#[test]
fn relocations_at_odd_addresses_are_not_promised() {
    let folder = folder();
    let source = "static int value;\nstruct __attribute__((packed)) { char odd; int *pointer; } pairs[1000] = \
                  { [0 ... 999] = { 1, &value } };\n";
    let plain = shared_object(folder.path(), "plain", source, &["-nostdlib"]);
    let addresses = relocations(&plain, "R_X86_64_RELATIVE");
    let even = addresses.iter().filter(|address| *address % 2 == 0).count();
    assert_eq!((addresses.len(), even), (1000, 500));
    let found = the(&inspected(&plain), FindingKind::UnpackedRelocations);
    let packed = 500 * 24 - found.saves.file_bytes;
    assert_eq!(found.what, format!("500 relative relocations take 12000 bytes, and {packed} bytes as RELR"));
}

/// A library whose functions stand in a table and are called by one another's neighbour.
fn own_functions(count: usize) -> String {
    let functions: String =
        (0..count).map(|index| format!("int function_{index}(void) {{ return {index}; }}\n")).collect();
    let table: String = (0..count).map(|index| format!("function_{index}, ")).collect();
    let calls: String = (0..count).map(|index| format!("function_{index}() + ")).collect();
    format!("{functions}int (*table[])(void) = {{ {table} }};\nint all(void) {{ return {calls} 0; }}\n")
}

#[test]
fn references_to_symbols_of_the_library_itself() {
    let folder = folder();
    let kind = FindingKind::OwnSymbolReferences;
    let library = |name: &str, count, arguments: &[&str]| {
        let arguments = [&["-nostdlib", "-fplt", "-fcf-protection=none"], arguments].concat();
        let library = shared_object(folder.path(), name, &own_functions(count), &arguments);
        (inspected(&library), library)
    };
    let (lazy, file) = library("lazy", 100, &["-Wl,-z,lazy"]);
    assert_eq!(relocations(&file, "R_X86_64_64").len(), 100);
    assert_eq!(relocations(&file, "R_X86_64_JUMP_SLOT").len(), 100);
    let lazy = the(&lazy, kind);
    assert_eq!(lazy.what, "200 references to symbols that the file itself exports, 100 calls in its PLT");
    assert_eq!(lazy.saves, Saving { lookups: 100, ..Saving::default() }, "calls are looked up later");
    let now = the(&library("now", 100, &["-Wl,-z,now"]).0, kind);
    assert_eq!(now.saves, Saving { lookups: 200, ..Saving::default() }, "calls are looked up at the start");
    assert_eq!((now.what, now.certainty), (lazy.what, Certainty::UpperBound));

    none(&library("bound", 100, &["-Wl,-Bsymbolic-functions"]).0, kind);
    none(&library("hidden", 100, &["-fvisibility=hidden"]).0, kind);
    // One word and one call for each: 62 and 64.
    none(&library("few", 31, &[]).0, kind);
    the(&library("enough", 32, &[]).0, kind);
    let main = [own_functions(100).as_str(), "int main(void) { return all(); }\n"].concat();
    none(&inspected(&build(folder.path(), "program", &main, &["-pie", "-fPIE", "-rdynamic"])), kind);
}

/// Classes with ten pure virtual functions each, and one that is there so that the vtable is.
fn abstract_classes(count: usize) -> String {
    let pure: String = (0..10).map(|index| format!("virtual void pure_{index}() = 0; ")).collect();
    let class = |index: usize| {
        format!("struct Class{index} {{ virtual void key(); {pure} }};\nvoid Class{index}::key() {{}}\n")
    };
    (0..count).map(class).collect()
}

#[test]
fn references_to_the_pure_virtual_function() {
    let folder = folder();
    let kind = FindingKind::PureVirtualReferences;
    let library = |name: &str, source: &str| build(folder.path(), name, source, &["-shared", "-fPIC"]);
    let plain = library("plain.cc", &abstract_classes(10));
    assert_eq!(relocations(&plain, "__cxa_pure_virtual").len(), 100);
    let found = the(&inspected(&plain), kind);
    assert_eq!(found.what, "100 references to __cxa_pure_virtual");
    assert_eq!(found.saves, Saving { lookups: 100, ..Saving::default() });
    assert_eq!(found.certainty, Certainty::UpperBound, "the loader remembers the last symbol");
    none(&inspected(&library("few.cc", &abstract_classes(6))), kind);

    let own = "extern \"C\" __attribute__((visibility(\"hidden\"))) void __cxa_pure_virtual() { __builtin_trap(); }\n";
    let mended = library("mended.cc", &[&abstract_classes(10), own].concat());
    assert_eq!(relocations(&mended, "__cxa_pure_virtual").len(), 0);
    let mended = inspected(&mended);
    assert_eq!(mended.parts.relocations.references.pure_virtual, 100, "they are still counted");
    none(&mended, kind);
}

#[test]
fn pages_that_relocation_makes_private() {
    let folder = folder();
    let kind = FindingKind::PrivatePages;
    let source = |pages: usize| format!("__attribute__((aligned(4096))) {}", pointers(pages * 512).split_off(18));
    let with_pages = |name: &str, pages: usize, arguments: &[&str]| {
        let source = ["static int value; ", &source(pages)].concat();
        shared_object(folder.path(), name, &source, arguments)
    };
    let plain = with_pages("plain", 70, &["-nostdlib"]);
    assert_eq!(pages(&relocations(&plain, "R_X86_64_RELATIVE")), 70);
    let found = the(&inspected(&plain), kind);
    assert_eq!(found.what, "relocation writes to 70 pages, 286720 bytes");
    assert_eq!(found.place, "the largest named table is `pointers` (286720 bytes)");
    assert_eq!(found.saves, Saving::default(), "nothing is promised");
    let packed = the(&inspected(&with_pages("packed", 70, &PACKED)), kind);
    assert_eq!(packed.what, found.what);
    the(&inspected(&with_pages("enough", 64, &["-nostdlib"])), kind);
    none(&inspected(&with_pages("few", 63, &["-nostdlib"])), kind);
    let offsets = "const int offsets[70 * 512] = { [0 ... 70 * 512 - 1] = 4 };\n";
    none(&inspected(&shared_object(folder.path(), "offsets", offsets, &["-nostdlib"])), kind);
}
