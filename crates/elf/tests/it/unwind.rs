//! Functions from the unwind tables of files built here, against `readelf`: its dump of the tables and the symbol table.
//! All are made by gcc and binutils (package `gcc`).

use std::fmt::Write;
use std::path::Path;

use coldstart_elf::{ElfFile, SymbolKind, UnwindTable, Vaddr};

use crate::built::{build, folder, readelf, shared_object};

fn source() -> String {
    (0..50).fold(String::new(), |mut source, number| {
        writeln!(source, "int function_{number}(int a) {{ return a * {number} + {number}; }}").unwrap();
        source
    })
}

/// The ranges of all entries, ordered by start.
fn listed(path: &Path) -> Vec<(u64, u64)> {
    let text = readelf(&["--debug-dump=frames"], path);
    let ranges = text.lines().filter_map(|line| line.split(" pc=").nth(1)?.split_once(".."));
    let number = |digits: &str| u64::from_str_radix(digits.trim(), 16).unwrap();
    let mut ranges: Vec<_> = ranges.map(|(start, end)| (number(start), number(end))).collect();
    ranges.sort_unstable();
    ranges
}

fn check(path: &Path, has_search_table: bool) {
    let bytes = std::fs::read(path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let table = UnwindTable::parse(&file).unwrap().unwrap();
    assert_eq!(table.search_table_size().is_some(), has_search_table);
    let listed = listed(path);
    assert!(listed.len() >= 50);
    assert_eq!(table.entry_count(), listed.len());
    assert!(table.functions().map(|start| start.0).eq(listed.iter().map(|range| range.0)));
    for (start, end) in listed {
        let whole = Some(Vaddr(start)..Vaddr(end));
        assert_eq!(table.function_at(Vaddr(start)), whole);
        assert_eq!(table.function_at(Vaddr(end - 1)), whole);
        assert_ne!(table.function_at(Vaddr(end)), whole);
    }
    assert_eq!(table.function_at(Vaddr(0)), None);
    assert_eq!(table.function_at(Vaddr(u64::MAX)), None);
}

#[test]
fn the_search_table_agrees_with_readelf() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--eh-frame-hdr"]);
    check(&path, true);

    // Functions of the symbol table are those of the unwind tables.
    let bytes = std::fs::read(&path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let table = UnwindTable::parse(&file).unwrap().unwrap();
    let symbols = file.dynamic_symbols(&file.dynamic().unwrap().unwrap()).unwrap();
    let functions: Vec<_> =
        symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Function && symbol.size > 0).collect();
    assert_eq!(functions.len(), 50);
    for symbol in functions {
        let end = Vaddr(symbol.value.0 + symbol.size);
        assert_eq!(table.function_at(Vaddr(symbol.value.0 + symbol.size / 2)), Some(symbol.value..end));
    }
}

#[test]
fn entries_are_read_where_there_is_no_search_table() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--no-eh-frame-hdr"]);
    check(&path, false);

    // A header whose table is left out, as its fields say then: DW_EH_PE_omit.
    let path = shared_object(folder.path(), "omitted.so", &source(), &["-Wl,--eh-frame-hdr"]);
    let mut bytes = std::fs::read(&path).unwrap();
    let place = ElfFile::parse(&bytes).unwrap().section(".eh_frame_hdr").unwrap().header.offset.0 as usize;
    bytes[place + 2..place + 4].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    check(&path, false);
}

#[test]
fn segments_are_enough() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--eh-frame-hdr"]);
    let mut bytes = std::fs::read(&path).unwrap();
    let count = UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()).unwrap().unwrap().entry_count();
    let places = if bytes[4] == 2 { [40..48, 60..64] } else { [32..36, 48..52] };
    places.into_iter().for_each(|place| bytes[place].fill(0));
    let file = ElfFile::parse(&bytes).unwrap();
    assert!(file.sections().is_empty());
    let table = UnwindTable::parse(&file).unwrap().unwrap();
    assert_eq!(table.entry_count(), count);
    assert!(table.functions().all(|start| table.function_at(start).is_some_and(|range| range.start == start)));
}

#[test]
fn relocatable_files_and_files_without_tables_have_none() {
    let folder = folder();
    let object = build(folder.path(), "object.o", &source(), &["-c"]);
    let bare = ["-nostdlib", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let bare = shared_object(folder.path(), "bare.so", &source(), &bare);
    for path in [object, bare] {
        let bytes = std::fs::read(&path).unwrap();
        assert!(UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()).unwrap().is_none(), "{}", path.display());
    }
}
