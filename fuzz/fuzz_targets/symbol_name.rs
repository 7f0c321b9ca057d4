//! Any bytes as a symbol's name: readable, and not much longer than it was, within a bounded time and stack.

#![no_main]

use coldstart_elf::readable_name;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for prefix in [&b""[..], b"_Z", b"_R", b"_ZN"] {
        let name = [prefix, bytes].concat();
        // A name that stays as it is may have three bytes for each byte that is no UTF-8; the part of a function is added.
        let most = 10_000.max(3 * name.len());
        assert!(readable_name(&name).len() <= most);
    }
});
