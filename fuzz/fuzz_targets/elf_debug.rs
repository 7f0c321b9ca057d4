//! Any bytes as an ELF file with a debug link or a small debug file, or as one of these sections.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::debug::exercise(bytes));
