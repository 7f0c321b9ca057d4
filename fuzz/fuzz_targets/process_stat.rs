//! Any bytes as `/proc/PID/stat`, and any bytes as the name in it, which each process chooses for itself.

#![no_main]

use coldstart_launch::fuzzing::process_stat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = process_stat(bytes);
    let rest = b") S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1 1\n";
    let named = [b"42 (", bytes, rest].concat();
    assert_eq!(process_stat(&named), Some((b'S', 7, 8, 123_456)), "a name says nothing");
});
