//! Any bytes as an ELF file with RELR, or as a RELR table: what is read can be written again.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::relr::exercise(bytes));
