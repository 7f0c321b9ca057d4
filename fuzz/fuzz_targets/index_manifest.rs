//! Any bytes as the manifest of an index, and as the log of a recorded start: refused or read, never a panic.

#![no_main]

use coldstart_index::{Manifest, log};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Manifest::decode(bytes);
    let whole = [b"CSINDEX\0\x01\0\0\0", bytes].concat();
    if let Ok(manifest) = Manifest::decode(&whole) {
        let written = manifest.encode().expect("what was read can be written");
        assert_eq!(Manifest::decode(&written).expect("what we write we read"), manifest);
    }
    log::answers(&log::parse(bytes));
});
