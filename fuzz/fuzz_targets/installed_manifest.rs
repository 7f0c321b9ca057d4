//! Any bytes as the record of an installation: refused or read; what is read and written again says the same.

#![no_main]

use std::path::Path;

use coldstart_install::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("record");
    let Ok(manifest) = Manifest::from_bytes(path, bytes) else { return };
    let written = manifest.to_bytes().expect("what was read can be written");
    assert_eq!(Manifest::from_bytes(path, &written).expect("what is written can be read"), manifest);
});
