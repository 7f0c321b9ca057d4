//! Any bytes as the table of an audit library: refused or read, never a panic. Any bytes as a whole library.
//!
//! Made-up bytes are hardly ever a table, so the input is also taken as changes to a small one: each three bytes, a place in the
//! table (two bytes, modulo the length) and the new value. The header's checksum is put right afterwards.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use coldstart_bind::audit::{Architecture, Found, Group, Place, Requester, Table, build, read};
use coldstart_elf::ElfFile;
use libfuzzer_sys::fuzz_target;

/// A library with a small table, and the place of the table in it.
static LIBRARY: LazyLock<(Vec<u8>, Range<usize>)> = LazyLock::new(|| {
    let found = |path: &str, before_library_path| {
        let path = path.as_bytes().to_vec();
        let place = if path.starts_with(b"/") { Place::Absolute(path) } else { Place::FromProgram(path) };
        Found { place, before_library_path }
    };
    let entries = |names: &[&str]| -> BTreeMap<Vec<u8>, Found> {
        names.iter().map(|name| (name.as_bytes().to_vec(), found(&format!("/lib/{name}"), name.len() > 6))).collect()
    };
    let library = |path: &str| Requester::Library(found(path, false).place);
    let group = |requesters: &[Requester], names: &[&str]| Group {
        requesters: requesters.iter().cloned().collect::<BTreeSet<_>>(),
        entries: entries(names),
    };
    let groups = vec![
        group(&[Requester::Program, library("/lib/a.so")], &["libb.so", "c.so"]),
        group(&[library("../lib/d.so")], &["libb.so", "/e/f.so"]),
    ];
    let table = Table { check_files: true, for_all: entries(&["libc.so.6", "m.so"]), groups };
    let library = build(Architecture::X86_64, &table).expect("the table is sound");
    assert_eq!(read(&library).expect("what was written can be read"), table);
    let section =
        ElfFile::parse(&library).expect("it is an ELF file").section(".coldstart").expect("it has a table").header;
    let start = section.offset.0 as usize;
    (library, start..start + section.size as usize)
});

fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes);
    let (library, table) = &*LIBRARY;
    let mut changed = library.clone();
    let whole = &mut changed[table.clone()];
    let kept = whole.len().min(bytes.len());
    whole[8..].fill(0);
    whole[..kept].copy_from_slice(&bytes[..kept]);
    check(&mut changed, table);

    let mut changed = library.clone();
    for [low, high, value] in bytes.as_chunks::<3>().0 {
        let place = usize::from(u16::from_le_bytes([*low, *high])) % table.len();
        changed[table.start + place] = *value;
    }
    check(&mut changed, table);
});

fn check(library: &mut [u8], table: &Range<usize>) {
    let bytes = &mut library[table.clone()];
    bytes[..8].copy_from_slice(b"COLDTBL1");
    let checksum = checksum(&bytes[..64]);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    let Ok(read_table) = read(library) else { return };
    // A table that is sound says the same when it is written again; others have names that are empty, or requesters twice.
    if let Ok(again) = build(Architecture::X86_64, &read_table) {
        assert_eq!(read(&again).expect("what was written can be read").len(), read_table.len());
    }
}

/// FNV-1a of the header, with the checksum's own field as zero (docs/formats/audit-table.md).
fn checksum(header: &[u8]) -> u32 {
    let bytes = header.iter().enumerate().map(|(at, byte)| if (8..12).contains(&at) { 0 } else { *byte });
    bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
