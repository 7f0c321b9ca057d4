//! Any bytes as an ELF file: headers, segments, sections, the dynamic table, strings, addresses.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::file::exercise(bytes));
