//! Any bytes as the record of a replaced file: refused with its name, or read, with files inside the root.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use coldstart_fuzz::memory::place;
use coldstart_packages::recorded;
use libfuzzer_sys::fuzz_target;

static RECORDS: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = place("records");
    fs::create_dir_all(&directory).expect("there is room");
    directory
});

fuzz_target!(|bytes: &[u8]| {
    fs::write(RECORDS.join("0.replaced.json"), bytes).expect("there is room");
    match recorded(&RECORDS, &RECORDS) {
        Err(error) => assert!(error.to_string().contains("0.replaced.json"), "{error}"),
        Ok(found) => {
            let [one] = &found[..] else { panic!("one file is one record") };
            assert!(one.file().starts_with(&*RECORDS) && one.kept().starts_with(&*RECORDS));
            let _ = (one.is_diverted(), one.owner());
        }
    }
});
