//! Notes of files built here, against `readelf -n`. All are made by gcc and binutils (package `gcc`).

use std::path::Path;
use std::process::Command;

use coldstart_elf::{ElfFile, abi_tag, build_id, is_debug_file, notes};

use crate::built::{after, build, folder, readelf, run, shared_object};

const DLOPEN: &str = r#"
    .section .note.dlopen, "a", @note
    .balign 4
    .long 4, 2f - 1f, 0x407c0c0a
    .asciz "FDO"
1:  .asciz "[{\"soname\":[\"libbpf.so.1\"]}]"
2:  .balign 4
    .section .note.stapsdt, "", @note
    .balign 4
    .long 8, 30, 3
    .asciz "stapsdt"
    .zero 24
    .asciz "p"
    .asciz "n"
    .asciz "a"
    .balign 4
    .section .note.GNU-stack, "", @progbits
"#;

/// Name and size of the description of each note that readelf lists, in no order.
fn listed(file: &Path) -> Vec<(String, u64)> {
    let text = readelf(&["-n"], file);
    let mut listed: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.strip_prefix("  ")?.split_whitespace();
            let (name, size) = (fields.next()?, fields.next()?.strip_prefix("0x")?);
            Some((name.to_owned(), u64::from_str_radix(size, 16).ok().filter(|_| size.len() == 8)?))
        })
        .collect();
    listed.sort();
    listed
}

fn check(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let ours = notes(&file).map(|note| note.unwrap());
    let mut ours: Vec<_> =
        ours.map(|note| (String::from_utf8_lossy(note.name).into_owned(), note.description.len() as u64)).collect();
    ours.sort();
    let theirs = listed(path);
    assert!(!theirs.is_empty());
    assert_eq!(ours, theirs, "{}", path.display());
    let text = readelf(&["-n"], path);
    let id = text.lines().find_map(|line| after(line, "Build ID: "));
    assert_eq!(build_id(&file).map(|id| id.to_string()).as_deref(), id, "{}", path.display());
    let abi = text.lines().find_map(|line| Some(line.split_once("OS: ")?.1.replace(", ABI: ", " ")));
    assert_eq!(abi_tag(&file).map(|tag| tag.to_string()), abi, "{}", path.display());
}

#[test]
fn programs_and_their_parts_agree_with_readelf() {
    let folder = folder();
    let program = build(folder.path(), "program", "int main(void) { return 0; }", &["-g", "-Wl,--build-id=sha1"]);
    // Readelf takes notes for broken whose last padding is missing, so this id has 4 bytes.
    let library = shared_object(folder.path(), "lib.so", "int f(void) { return 1; }", &["-Wl,--build-id=0xabcdef01"]);
    let object = build(folder.path(), "notes.s.o", DLOPEN, &["-c"]);
    let object_path = object.to_str().unwrap();
    let with_notes = shared_object(folder.path(), "notes.so", "int g(void) { return 2; }", &[object_path]);
    let debug = folder.path().join("program.debug");
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&debug));
    for path in [&program, &library, &object, &with_notes, &debug] {
        check(path);
    }
    let is_debug = |path: &Path| is_debug_file(&ElfFile::parse(&std::fs::read(path).unwrap()).unwrap());
    assert!(is_debug(&debug) && !is_debug(&program) && !is_debug(&object));
}

#[test]
fn a_file_without_sections_still_has_its_build_id() {
    let folder = folder();
    let library = shared_object(folder.path(), "lib.so", "int f(void) { return 1; }", &["-Wl,--build-id=0xabcdef"]);
    let mut bytes = std::fs::read(&library).unwrap();
    // e_shoff, e_shnum and e_shstrndx of a 64-bit or a 32-bit header.
    let places = if bytes[4] == 2 { [40..48, 60..64] } else { [32..36, 48..52] };
    places.into_iter().for_each(|place| bytes[place].fill(0));
    let file = ElfFile::parse(&bytes).unwrap();
    assert!(file.sections().is_empty());
    assert_eq!(build_id(&file).unwrap().to_string(), "abcdef");
}

#[test]
fn libraries_for_dlopen_and_probes_are_found() {
    let folder = folder();
    let object = build(folder.path(), "notes.s.o", DLOPEN, &["-c"]);
    let library = shared_object(folder.path(), "notes.so", "int g(void) { return 2; }", &[object.to_str().unwrap()]);
    for path in [&object, &library] {
        let bytes = std::fs::read(path).unwrap();
        let file = ElfFile::parse(&bytes).unwrap();
        let all: Vec<_> = notes(&file).map(|note| note.unwrap()).collect();
        let text = all.iter().find_map(|note| note.dlopen()).unwrap();
        assert_eq!(text, br#"[{"soname":["libbpf.so.1"]}]"#);
        let probe = all.iter().find(|note| note.is_systemtap_probe()).unwrap();
        assert!(probe.description.ends_with(b"p\0n\0a\0"));
        let place = usize::try_from(probe.description_offset.0).unwrap();
        assert_eq!(&bytes[place..place + 30], probe.description);
    }
}

#[test]
fn properties_agree_with_readelf() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: shadow stacks are a property of x86 only");
        return;
    }
    let folder = folder();
    let object = build(folder.path(), "object.o", "int f(void) { return 1; }", &["-c", "-fcf-protection=full"]);
    let text = readelf(&["-n"], &object);
    assert!(text.contains("x86 feature: IBT, SHSTK"), "{text}");
    let bytes = std::fs::read(&object).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let properties = notes(&file).flat_map(|note| note.unwrap().properties(file.encoding()));
    let properties: Vec<_> = properties.map(|property| property.unwrap()).collect();
    // GNU_PROPERTY_X86_FEATURE_1_AND: branch tracking 1, shadow stack 2.
    let features = properties.iter().find(|property| property.kind == 0xc000_0002).unwrap();
    assert_eq!(features.bytes, [3, 0, 0, 0]);
}
