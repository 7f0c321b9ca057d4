//! Any bytes as an object that a traced program loads: described, its functions' starts found, its symbols listed for a linker.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use coldstart_fuzz::memory::place;
use coldstart_order::{FunctionTable, ListEntry, ListFormat, object_sections, read_list, write_list};
use coldstart_profile::trace::FileId;
use coldstart_symbols::{ObjectFile, TouchedPages, WantedPages, describe, function_starts, linker_names};
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| place("so"));

fuzz_target!(|bytes: &[u8]| {
    let _ = object_sections(bytes);
    let _ = object_sections(&archive(bytes));

    let path = &*PLACE;
    std::fs::write(path, bytes).expect("there is room");
    if let Ok(object) = ObjectFile::open(path) {
        let mut touched = TouchedPages::new();
        for page in 0..4 {
            touched.add_file_page(page);
            touched.add_instruction(page * 4096 + 0x123);
            touched.add_zero_filled_page(page + 3);
            touched.add_code(page * 0x400 + 0x1000);
        }
        if let Ok(described) = describe(&object, FileId(0), &touched) {
            assert!(described.sections.is_sorted_by(|one, next| one.address + one.size <= next.address));
            assert!(described.symbols.is_sorted_by_key(|symbol| symbol.address));
        }
        if let Ok(found) = function_starts(&object, &WantedPages::All) {
            assert!(found.starts.is_sorted_by(|one, next| one.address < next.address));
            assert!(found.starts.iter().all(|start| start.file_offset < bytes.len() as u64));
        }
    }
    if let Ok(names) = linker_names(path) {
        let table = FunctionTable::new(&names.symbols);
        assert!(table.all().is_sorted_by_key(|function| function.address));
        let entries = table.all().iter().map(|function| ListEntry::of(function, &table));
        let list = write_list(entries, ListFormat::Lld, &[]);
        let _ = read_list(&list);
    }
});

/// An archive whose one member is these bytes.
fn archive(bytes: &[u8]) -> Vec<u8> {
    let header = format!("{:<48}{:<10}`\n", "a.o/", bytes.len());
    [b"!<arch>\n", header.as_bytes(), bytes].concat()
}
