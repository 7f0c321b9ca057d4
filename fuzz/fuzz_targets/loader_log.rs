//! Any bytes as a loader's log of a start: what the program wrote among it included.

#![no_main]

use std::path::Path;

use coldstart_observe::loader_log::{compare, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let is_object = |path: &Path| path.as_os_str().len() % 2 == 0;
    let same_file = |one: &Path, other: &Path| one.file_name() == other.file_name();
    let log = parse(bytes, 7, &is_object);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(log.objects.len() + log.opened_later.len() <= lines);
    assert!(log.failed_probes.len() + log.missing.len() <= 2 * lines);
    let _ = compare(&log, &log, same_file);
    // Nearly all lines of a log have the number in front.
    let numbered: Vec<u8> =
        bytes.split(|byte| *byte == b'\n').flat_map(|line| [b"7:\t", line, b"\n"].concat()).collect();
    let numbered = parse(&numbered, 7, &is_object);
    assert!(numbered.objects.len() + numbered.opened_later.len() <= lines);
    let _ = compare(&log, &numbered, same_file);
});
