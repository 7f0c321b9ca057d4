//! Any bytes as an ELF file with symbol versions.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::versions::exercise(bytes));
