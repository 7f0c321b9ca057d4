//! Any bytes as an ELF file with unwind tables, and lookups in them.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::unwind::exercise(bytes));
