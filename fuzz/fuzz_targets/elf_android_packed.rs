//! Any bytes as an ELF file with Android's packed relocations, or as such a stream.

#![no_main]

use coldstart_fuzz::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::android_packed::exercise(bytes));
