//! Any bytes as an ELF file with relocations, or as a relocation table.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::relocations::exercise(bytes));
