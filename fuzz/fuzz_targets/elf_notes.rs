//! Any bytes as an ELF file with notes, or as notes.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::notes::exercise(bytes));
