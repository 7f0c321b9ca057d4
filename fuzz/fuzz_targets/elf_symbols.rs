//! Any bytes as an ELF file with symbol tables, or as a symbol table.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::symbols::exercise(bytes));
