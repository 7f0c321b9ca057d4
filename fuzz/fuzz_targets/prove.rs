//! Any two files against each other: an answer, whatever they are.

#![no_main]

use coldstart_prove::{Source, prove};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A file against itself goes through every step; a file against another one shows what each step makes of a difference.
    let _ = prove(Source::in_memory(bytes), Source::in_memory(bytes));
    let Some((place, rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut changed = rest.to_vec();
    let at = usize::from(u16::from_le_bytes(*place));
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 1;
    }
    let _ = prove(Source::in_memory(rest), Source::in_memory(&changed));
    let _ = prove(Source::in_memory(&changed), Source::in_memory(rest));
});
