//! Any bytes as an ELF file with hash tables, and lookups in them.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::hash::exercise(bytes));
