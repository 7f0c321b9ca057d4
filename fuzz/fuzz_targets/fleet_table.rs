//! Any bytes as a fleet table: refused with the file's name and a hint, or made into traces of which all events are in their files.
//!
//! `@` in the input is the path of a program that exists: a file of three pages without a build id.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use coldstart_fuzz::memory::place;
use coldstart_import::FleetTable;
use libfuzzer_sys::fuzz_target;

/// The program and the table.
static PLACES: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    let [program, table] = ["program", "table"].map(place);
    fs::write(&program, [0; 3 * 4096]).expect("there is room for a small file");
    [program, table]
});

fuzz_target!(|bytes: &[u8]| {
    let [program, table_path] = &*PLACES;
    let program = program.to_str().expect("its name is UTF-8").as_bytes();
    let lines: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| if *byte == b'@' { program } else { std::slice::from_ref(byte) })
        .copied()
        .collect();
    fs::write(table_path, &lines).expect("there is room for a small file");
    match FleetTable::read(table_path) {
        Err(error) => assert!(error.to_string().contains("coldstart-fuzz-"), "{error}"),
        Ok(table) => {
            let _ = (table.hosts(), table.others().count());
            let mut before = u64::MAX;
            for share in [0, 1, 50, 100] {
                let trace = table.trace(share);
                assert!(trace.events.is_sorted_by_key(|event| event.at));
                for event in &trace.events {
                    assert!(event.file.is_some_and(|file| trace.file(file).is_some()));
                }
                assert!(!table.notes(share).is_empty() || table.left_out_bytes(share) == 0);
                let now = trace.events.len() as u64;
                assert!(now <= before, "a higher share takes more");
                before = now;
            }
        }
    }
});
