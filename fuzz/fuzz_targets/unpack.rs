//! Any bytes as a file with our note in it: a refusal, or a script of a size that is known before it is written.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_prove::Source;
use coldstart_rewrite::{About, ChangedFile, identify, plan_unpack};
use libfuzzer_sys::fuzz_target;

/// Larger results are not written: the size is told beforehand, so that nobody need.
const WRITTEN: u64 = 64 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = ElfFile::parse(bytes) else { return };
    let _ = About::read(&file);
    let _ = identify(&file);
    // Hardly any input has the digest that its note says, so the way back is followed for others, too.
    for changed in [ChangedFile::Refuse, ChangedFile::KeepPayload, ChangedFile::Discard] {
        let Ok(plan) = plan_unpack(&file, changed) else { continue };
        if plan.script.size() < WRITTEN {
            let restored = plan.script.to_vec(bytes).expect("the script copies what is there");
            let _ = plan.check(Source::in_memory(&restored));
        }
    }
});
