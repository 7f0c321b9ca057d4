//! The layout of small libraries and programs, compared with what readelf says of them.

use std::path::Path;

use coldstart_elf::{DynamicEntry, ElfFile, TableRecord, Tag};
use coldstart_inspect::layout::{Binding, ExistingPacking, Layout, PrelinkUse, Stack};
use coldstart_inspect::{Object, initialisers, layout, loader_reads};

use crate::built::{build, folder, readelf, section, shared_object, with_object};

const MAIN: &str = "int main(void) { return 0; }\n";

fn found(path: &Path) -> Layout {
    with_object(path, layout)
}

fn hexadecimal(word: &str) -> u64 {
    u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn segments_are_those_that_readelf_lists() {
    let folder = folder();
    let program = build(folder.path(), "program", "#include <stdio.h>\nint main(void) { puts(\"\"); }\n", &[]);
    let text = readelf(&["--segments"], &program);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("LOAD")).collect();
    let layout = found(&program);
    assert_eq!(layout.segments.len(), lines.len());
    for (segment, line) in layout.segments.iter().zip(lines) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<u64> = [1, 2, 4, 5].iter().map(|index| hexadecimal(words[*index])).collect();
        assert_eq!(numbers, [segment.file_offset, segment.address, segment.file_bytes, segment.memory_bytes], "{line}");
        assert_eq!(hexadecimal(words.last().unwrap()), segment.alignment_bytes, "{line}");
        let flags = segment.flags.to_uppercase().replace('X', "E");
        assert_eq!(words[6..words.len() - 1].concat(), flags.replace('-', ""), "{line}");
        // ` 02     .interp .note.gnu.property ...`
        let first = segment.first_section.as_deref().unwrap();
        let mapping = text.lines().find(|line| line.split_whitespace().nth(1) == Some(first)).unwrap();
        let names: Vec<&str> = mapping.split_whitespace().skip(1).collect();
        assert!(text.contains(&format!(" {first} ")));
        if names.len() as u64 == segment.section_count {
            assert_eq!(names.last().copied(), segment.last_section.as_deref());
        }
    }
    // Code begins a page of its own, and what fills up the page before it is nobody's.
    let code = layout.segments.iter().find(|segment| segment.flags == "r-x").unwrap();
    let before = &layout.segments[0];
    assert_eq!(code.padding_before_bytes, code.file_offset - before.file_bytes);
    assert_eq!(
        layout.alignment.padding_bytes,
        layout.segments.iter().map(|segment| segment.padding_before_bytes).sum::<u64>()
    );
    assert_eq!(layout.names.interpreter.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
    assert_eq!(layout.names.needed, ["libc.so.6"]);
    assert!(layout.problems.is_empty());
}

#[test]
fn zeros_inside_a_page_cost_that_page() {
    let folder = folder();
    let zeros = "char zeros[100];\n";
    let whole_page = "__attribute__((aligned(4096))) char data[4096] = { 1 };\n";
    let pointer =
        "extern char own[] __attribute__((visibility(\"hidden\"))); char own[8] = { 1 }; char *pointer = own;\n";
    let build = |name: &str, source: &str| {
        found(&shared_object(folder.path(), name, &[zeros, source].concat(), &["-nostdlib", "-Wl,-z,norelro"]))
    };
    let [inside] = &build("inside.so", "char data[100] = { 1 };\n").zero_fill[..] else { panic!() };
    assert!(inside.shared_file_page.is_some() && !inside.shared_page_is_relocated, "{inside:?}");
    assert_eq!(inside.cleared_bytes, 4096 - inside.address % 4096);
    let [relocated] = &build("relocated.so", pointer).zero_fill[..] else { panic!() };
    assert!(relocated.shared_file_page.is_some() && relocated.shared_page_is_relocated, "{relocated:?}");
    let [at_start] = &build("start.so", whole_page).zero_fill[..] else { panic!() };
    assert_eq!((at_start.address % 4096, at_start.shared_file_page, at_start.cleared_bytes), (0, None, 0));
    assert!(at_start.bytes >= 100);
    assert!(found(&shared_object(folder.path(), "none.so", "", &["-nostdlib"])).zero_fill.is_empty());
}

#[test]
fn protection_and_binding_follow_the_linker() {
    let folder = folder();
    let build = |name: &str, arguments: &[&str]| found(&build(folder.path(), name, MAIN, arguments));
    let usual = build("usual", &["-Wl,-z,relro", "-Wl,-z,now"]);
    let relro = usual.relro.unwrap();
    assert!(relro.ends_on_page_boundary && relro.unprotected_bytes == 0 && relro.bytes > 0);
    let dynamic = usual.dynamic.unwrap();
    assert_eq!((dynamic.binding, dynamic.segment_flags.as_deref()), (Binding::Now, Some("rw-")));
    assert!(dynamic.spare_entries > 0);
    let place = section(&folder.path().join("usual"), ".dynamic").unwrap();
    assert_eq!((dynamic.address, dynamic.file_offset, dynamic.bytes), place);
    let without = build("without", &["-Wl,-z,norelro", "-Wl,-z,lazy"]);
    assert_eq!(without.relro, None);
    assert_eq!(without.dynamic.unwrap().binding, Binding::Lazy);
    let fixed = build("static", &["-static"]);
    assert!(fixed.dynamic.is_none() && fixed.names.interpreter.is_none() && fixed.hash.gnu.is_none());
    // The linker thinks that pages have 4 KiB whatever they have: it ends where they end.
    let executable = build("executable", &["-Wl,-z,execstack"]);
    assert_eq!((executable.special.stack, fixed.special.stack), (Stack::Executable, Stack::NotExecutable));
}

#[test]
fn hash_tables_have_the_size_of_their_sections() {
    let folder = folder();
    let source: String = (0..200).map(|index| format!("int function_{index}(void) {{ return {index}; }}\n")).collect();
    for style in ["gnu", "sysv", "both"] {
        let argument = format!("-Wl,--hash-style={style}");
        let library = shared_object(folder.path(), style, &source, &["-nostdlib", &argument]);
        let hash = found(&library).hash;
        let size = |name| section(&library, name).map(|(_, _, size)| size);
        assert_eq!(hash.gnu.as_ref().map(|table| table.bytes), size(".gnu.hash"), "{style}");
        assert_eq!(hash.sysv.as_ref().map(|table| table.bytes), size(".hash"), "{style}");
        let unused = if style == "both" { size(".hash").unwrap() } else { 0 };
        assert_eq!(hash.unused_bytes, unused, "{style}");
        let tables = hash.gnu.as_ref().map(|table| table.chains.as_ref().unwrap());
        for chains in tables.into_iter().chain(hash.sysv.as_ref().map(|table| table.chains.as_ref().unwrap())) {
            assert!(chains.symbols >= 200 && chains.longest_chain >= 1 && chains.comparisons_per_symbol >= 1.0);
        }
        if let Some(gnu) = hash.gnu {
            assert!(gnu.bloom_false_positives > 0.0 && gnu.bloom_false_positives < 1.0, "{gnu:?}");
        }
    }
}

#[test]
fn the_largest_page_decides_where_a_file_loads() {
    let folder = folder();
    let alignment = |size: &str| {
        let argument = format!("-Wl,-z,max-page-size={size}");
        let program = build(folder.path(), size, MAIN, &[&argument, "-Wl,-z,separate-code"]);
        found(&program).alignment
    };
    let small = alignment("4096");
    assert!(!small.loads_with_64_kib_pages && !small.is_huge_page_aligned);
    assert_eq!(small.largest_alignment_bytes, 4096);
    assert!(small.obstacles_to_64_kib_pages[0].contains("4096"), "{small:?}");
    let large = alignment("65536");
    assert!(large.loads_with_64_kib_pages && !large.is_huge_page_aligned, "{large:?}");
    let huge = alignment("2097152");
    assert!(huge.loads_with_64_kib_pages && huge.is_huge_page_aligned);
    assert!(huge.padding_bytes > large.padding_bytes && large.padding_bytes > small.padding_bytes);
}

#[test]
fn what_is_rare_is_counted() {
    let folder = folder();
    let text = ".text\n.globl place\nplace: .quad place\n.section .note.GNU-stack\n";
    let library = build(folder.path(), "text.s.o", text, &["-shared", "-nostdlib", "-Wl,-z,notext"]);
    let special = found(&library).special;
    assert!(special.text_relocations.is_marked);
    assert_eq!((special.text_relocations.words, special.text_relocations.pages), (1, 1));

    let variables = "int table[100] = { 1 };\nlong number = 2;\n";
    shared_object(folder.path(), "libvariables.so", variables, &[]);
    let user = "extern int table[100]; extern long number; int main(void) { return table[7] + (int)number; }\n";
    let search = format!("-L{}", folder.path().display());
    // The library comes behind the source on the command line.
    let program = build(folder.path(), "user", user, &["-no-pie", "-fno-pie", &search, "-lvariables"]);
    let copies = found(&program).special.copy_relocations;
    let in_readelf = readelf(&["--relocs"], &program).lines().filter(|line| line.contains("R_X86_64_COPY")).count();
    assert_eq!((copies.count, in_readelf, copies.bytes), (2, 2, 408));
    assert_eq!(copies.largest[0].name, "table");
    assert_eq!(copies.largest[0].bytes, 400);

    let source = "__thread int own __attribute__((tls_model(\"initial-exec\"))); int get(void) { return own; }\n\
        static int implementation(void) { return 1; }\n\
        static void *choose(void) { return implementation; }\n\
        __attribute__((visibility(\"hidden\"))) int chosen(void) __attribute__((ifunc(\"choose\")));\n\
        int exported(void) __attribute__((ifunc(\"choose\")));\n\
        int call(void) { return chosen(); }\n";
    let special = found(&shared_object(folder.path(), "special.so", source, &[])).special;
    assert!(special.has_static_tls);
    assert_eq!((special.chosen_functions, special.indirect_function_symbols), (1, 1));
    assert_eq!(special.text_relocations.words, 0);
}

#[test]
fn names_and_versions_are_those_of_the_tables() {
    let folder = folder();
    let source = "#include <stdio.h>\nint call(void) { return puts(\"\"); }\n";
    let arguments = ["-Wl,-soname,libname.so.1", "-Wl,-rpath,/one:/two:$ORIGIN/three", "-Wl,--enable-new-dtags"];
    let library = shared_object(folder.path(), "library", source, &arguments);
    let new = found(&library);
    assert_eq!(new.names.soname.as_deref(), Some("libname.so.1"));
    assert_eq!(new.names.runpath.as_deref(), Some("/one:/two:$ORIGIN/three"));
    assert_eq!((new.names.rpath.as_deref(), new.names.search_directories), (None, 3));
    let libc = new.versions.needed.iter().find(|needed| needed.library == "libc.so.6").unwrap();
    assert!(libc.versions.iter().all(|version| version.starts_with("GLIBC_")));
    let in_readelf = readelf(&["--version-info"], &library).matches("  Name: ").count() as u64;
    assert_eq!((new.versions.needed_count, new.versions.defined_count), (in_readelf, 0));

    std::fs::write(folder.path().join("script"), "ONE { global: call; };\nTWO { global: more; } ONE;\n").unwrap();
    let script = format!("-Wl,--version-script={}", folder.path().join("script").display());
    let arguments = [script.as_str(), "-Wl,-rpath,/old", "-Wl,--disable-new-dtags"];
    let old = found(&shared_object(folder.path(), "old", source, &arguments));
    assert_eq!((old.names.rpath.as_deref(), old.names.search_directories), (Some("/old"), 1));
    assert_eq!(old.versions.defined_count, 3, "two and the file's own");
}

#[test]
fn packings_are_told_apart() {
    let folder = folder();
    let source = "static int value; int *pointers[] = { &value, &value, &value };\n";
    let plain = found(&shared_object(folder.path(), "plain", source, &[]));
    assert!(plain.packings.is_empty());
    let packed = shared_object(folder.path(), "packed", source, &["-Wl,-z,pack-relative-relocs"]);
    assert_eq!(found(&packed).packings, [ExistingPacking::Relr]);
    let hidden = with_tags(&packed, |entry| {
        (Tag::RELR.0..=Tag::RELR.0).contains(&entry.tag.0).then_some((entry.tag.0 | 0x0800_0000, entry.value))
    });
    assert_eq!(found_in(&hidden).packings, [ExistingPacking::Relrhack]);
    let android = with_tags(&packed, |entry| (entry.tag == Tag::RELR).then_some((Tag::ANDROID_RELR.0, entry.value)));
    assert_eq!(found_in(&android).packings, [ExistingPacking::AndroidRelr]);
    let source = [source, "__attribute__((section(\".elfhack.text.v1\"))) void hack(void) {}\n"].concat();
    assert_eq!(found(&shared_object(folder.path(), "hacked", &source, &[])).packings, [ExistingPacking::Elfhack]);
}

#[test]
fn what_prelink_left_is_judged_by_the_kind_of_file() {
    let folder = folder();
    let as_prelinked = |path: &Path| {
        let changed = with_tags(path, |entry| {
            (entry.tag == Tag::DEBUG || entry.tag == Tag::SONAME).then_some((Tag::GNU_PRELINKED.0, 1_262_304_000))
        });
        found_in(&changed).prelink.unwrap()
    };
    let movable = as_prelinked(&build(folder.path(), "pie", MAIN, &["-pie"]));
    assert_eq!((movable.used_by, movable.unix_seconds), (PrelinkUse::Nobody, Some(1_262_304_000)));
    let fixed = as_prelinked(&build(folder.path(), "fixed", MAIN, &["-no-pie"]));
    assert_eq!(fixed.used_by, PrelinkUse::GlibcUpTo235);
    let library = shared_object(folder.path(), "library", "", &["-Wl,-soname,libx.so"]);
    assert_eq!(found(&library).prelink, None);
    assert_eq!(as_prelinked(&library).used_by, PrelinkUse::GlibcUpTo235);
}

#[test]
fn the_json_says_what_it_is() {
    let folder = folder();
    let json = serde_json::to_value(found(&build(folder.path(), "program", MAIN, &[]))).unwrap();
    assert_eq!(json["segments"][0]["flags"], "r--");
    assert_eq!(json["special"]["stack"], "not-executable");
    assert!(json["hash"]["gnu"]["bytes"].as_u64().unwrap() > 0);
    assert!(json["prelink"].is_null() && json["packings"].as_array().unwrap().is_empty());
}

#[test]
fn damaged_files_are_no_danger() {
    let folder = folder();
    let source = "#include <stdio.h>\nstatic int value; int *pointers[] = { &value, &value };\n\
        __thread int own = 3; __attribute__((constructor)) void start(void) { puts(\"\"); own++; }\n";
    let arguments = ["-Wl,--hash-style=both", "-Wl,-z,pack-relative-relocs"];
    let library = shared_object(folder.path(), "library", source, &arguments);
    let whole = std::fs::read(&library).unwrap();
    let dynamic = section(&library, ".dynamic").unwrap();
    // The headers and the dynamic table decide where everything else is looked for.
    let mut places: Vec<usize> = (0..0x400).collect();
    places.extend(dynamic.1 as usize..(dynamic.1 + dynamic.2) as usize);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut read = 0;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 3 {
            let place = places[random() % places.len()];
            bytes[place] = [0, 1, 0x7f, 0xff, random() as u8][random() % 5];
        }
        if random() % 8 == 0 {
            bytes.truncate(random() % whole.len());
        }
        let Ok(file) = ElfFile::parse(&bytes) else { continue };
        let Ok(object) = Object::read(file, None) else { continue };
        let everything = (initialisers(&object), layout(&object), loader_reads(&object, 32));
        assert!(everything.2.read_pages <= everything.2.file_pages);
        read += 1;
    }
    assert!(read > 500, "{read} could be read");
}

fn found_in(bytes: &[u8]) -> Layout {
    layout(&Object::read(ElfFile::parse(bytes).unwrap(), None).unwrap())
}

/// The file with some entries of its dynamic table changed.
fn with_tags(path: &Path, change: impl Fn(DynamicEntry) -> Option<(u64, u64)>) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let size = DynamicEntry::size(file.encoding().class);
    let start = dynamic.file_offset().0 as usize;
    let changes: Vec<(usize, (u64, u64))> = dynamic
        .entries()
        .enumerate()
        .filter_map(|(index, entry)| Some((start + index * size, change(entry)?)))
        .collect();
    assert!(!changes.is_empty());
    for (place, (tag, value)) in changes {
        bytes[place..place + 8].copy_from_slice(&tag.to_le_bytes());
        bytes[place + 8..place + 16].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}
