//! Any two files against each other: an answer, whatever they are.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_prove::{Source, prove};
use coldstart_rewrite::{ChangedFile, plan_unpack};
use libfuzzer_sys::fuzz_target;

/// Larger files are not written: the size is known beforehand.
const WRITTEN: u64 = 64 << 20;

fuzz_target!(|bytes: &[u8]| {
    // A file against itself goes through every step; a file against another one shows what each step makes of a difference.
    let _ = prove(Source::in_memory(bytes), Source::in_memory(bytes));
    if let Some(before) = original(bytes) {
        let _ = prove(Source::in_memory(&before), Source::in_memory(bytes));
        let _ = prove(Source::in_memory(bytes), Source::in_memory(&before));
    }
    let Some((place, rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut changed = rest.to_vec();
    let at = usize::from(u16::from_le_bytes(*place));
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 1;
    }
    let _ = prove(Source::in_memory(rest), Source::in_memory(&changed));
    let _ = prove(Source::in_memory(&changed), Source::in_memory(rest));
});

/// What a file with our note in it was made from, whatever it has become since: a pair of which the second is packed or bound.
fn original(bytes: &[u8]) -> Option<Vec<u8>> {
    let file = ElfFile::parse(bytes).ok()?;
    let plan = plan_unpack(&file, ChangedFile::KeepPayload).ok()?;
    (plan.script.size() < WRITTEN).then(|| plan.script.to_vec(bytes).expect("the script copies what is there"))
}
