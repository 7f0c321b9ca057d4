//! Version tables of files built here, against `readelf -V`. All are made by gcc and binutils (package `gcc`).

use std::path::{Path, PathBuf};

use coldstart_elf::{ElfFile, VersionName, VersionTable, sysv_hash};

use crate::built::{after, build, folder, readelf, shared_object};

const LIBRARY: &str = r#"
    #include <stdio.h>
    __asm__(".symver old_answer, answer@OWN_1");
    __asm__(".symver new_answer, answer@@OWN_2");
    int old_answer(void) { return 41; }
    int new_answer(void) { return 42; }
    int plain(void) { return puts("plain"); }
"#;
const SCRIPT: &str = "OWN_1 { global: answer; plain; local: *; };\nOWN_2 { } OWN_1;\n";

fn built(folder: &Path) -> (PathBuf, PathBuf) {
    let script = folder.join("versions.map");
    std::fs::write(&script, SCRIPT).unwrap();
    let script = format!("-Wl,--version-script={}", script.display());
    let library = shared_object(folder, "libown.so", LIBRARY, &[&script, "-Wl,-soname,libown.so"]);
    let source = "int answer(void), plain(void); int main(void) { return answer() + plain(); }";
    let program = build(folder, "program", source, &[library.to_str().unwrap()]);
    (library, program)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line for each version and file, in the same words from both sides.
fn from_readelf(path: &Path) -> Vec<String> {
    let output = readelf(&["-V"], path);
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        if let (Some(file), Some(_)) = (after(line, "File: "), after(line, "Cnt: ")) {
            lines.push(format!("file {file}"));
        } else if let (Some(index), Some(name)) = (after(line, "Index: "), after(line, "Name: ")) {
            lines.push(format!("defined {index} {name}{}", if line.contains("BASE") { " base" } else { "" }));
        } else if let (Some(name), Some(index)) = (after(line, "Name: "), after(line, "Version: ")) {
            lines.push(format!("needed {index} {name}{}", if line.contains("WEAK") { " weak" } else { "" }));
        } else if let Some((_, parent)) = line.split_once(": Parent ") {
            lines.push(format!("parent {}", parent.split_once(": ").unwrap().1));
        }
    }
    lines
}

fn from_us(table: &VersionTable<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for version in table.defined() {
        let base = if version.is_base { " base" } else { "" };
        lines.push(format!("defined {} {}{base}", version.index, text(version.name)));
        lines.extend(version.parents.iter().map(|parent| format!("parent {}", text(parent))));
        assert_eq!(version.hash, sysv_hash(version.name));
    }
    for file in table.needed() {
        lines.push(format!("file {}", text(file.file)));
        for version in &file.versions {
            let weak = if version.is_weak { " weak" } else { "" };
            lines.push(format!("needed {} {}{weak}", version.index, text(version.name)));
            assert_eq!(version.hash, sysv_hash(version.name));
        }
    }
    lines
}

/// `name@VERSION`, `name@@VERSION` or `name` of each symbol as readelf lists it.
fn listed_symbols(path: &Path) -> Vec<String> {
    let output = readelf(&["--dyn-syms"], path);
    let rows = output.lines().filter(|line| line.trim_start().split(':').next().unwrap().parse::<u32>().is_ok());
    rows.map(|row| row.split_whitespace().nth(7).unwrap_or_default().to_owned()).collect()
}

fn check(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let table = VersionTable::parse(&file, &dynamic).unwrap();
    assert_eq!(from_us(&table), from_readelf(path));

    let symbols = file.dynamic_symbols(&dynamic).unwrap();
    let ours: Vec<String> = symbols
        .iter()
        .zip(0..)
        .map(|(symbol, number)| {
            let (name, version) = (text(symbols.name(&symbol)), table.version_of(number).unwrap());
            // Of the symbols that stand for versions themselves, readelf shows no version.
            let is_shown = |known: &VersionName<'_>| version.index > 1 && known.name != symbols.name(&symbol);
            match table.name_of(version.index).filter(is_shown) {
                None => name,
                // Readelf marks the one that everyone gets by a second sign, where the object defines it.
                Some(version_name) => {
                    let sign = if version.is_hidden || version_name.file.is_some() { "@" } else { "@@" };
                    format!("{name}{sign}{}", text(version_name.name))
                }
            }
        })
        .collect();
    assert_eq!(ours, listed_symbols(path));
}

#[test]
fn versions_that_are_needed_and_defined_agree_with_readelf() {
    let folder = folder();
    let (library, program) = built(folder.path());
    check(&library);
    check(&program);
}

#[test]
fn both_versions_of_a_symbol_are_told_apart() {
    let folder = folder();
    let (library, _) = built(folder.path());
    let bytes = std::fs::read(&library).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let table = VersionTable::parse(&file, &dynamic).unwrap();
    let symbols = file.dynamic_symbols(&dynamic).unwrap();
    let answers = symbols.iter().zip(0..).filter(|(symbol, _)| symbols.name(symbol) == b"answer");
    let mut versions: Vec<_> = answers
        .map(|(_, number)| table.version_of(number).unwrap())
        .map(|version| (table.name_of(version.index).unwrap().name, version.is_hidden))
        .collect();
    versions.sort();
    assert_eq!(versions, [(&b"OWN_1"[..], true), (&b"OWN_2"[..], false)]);
}
