//! Any bytes as a file to pack: a refusal, or a result that can be taken back to the very bytes it was made of.
//!
//! Not every result of hostile bytes is proven, and then it is never written; but what is planned must be complete.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_prove::{BindEdit, Source, prove_bound, prove_identity};
use coldstart_rewrite::{
    ChangedFile, ClosedWorld, PackDecision, PackOptions, Pass, Passes, WayBack, plan_pack, plan_unpack,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = ElfFile::parse(bytes) else { return };
    // RELR alone; all passes in a world where nothing is taken over; a stub; and both with lower alignments.
    let stub = Passes::of([Pass::Stub]);
    let (low, low_stub) = ([Pass::LowerAlignment, Pass::Relr], [Pass::LowerAlignment, Pass::Stub]);
    for (passes, sparse, drop_syment) in [
        (Passes::default(), false, true),
        (Passes::all_safe(), true, false),
        (stub, false, true),
        (Passes::of(low), false, false),
        (Passes::of(low_stub), false, true),
    ] {
        let not_interposed = (0..1000).collect();
        let closed_world =
            sparse.then(|| ClosedWorld { not_interposed: Some(not_interposed), ..ClosedWorld::default() });
        let options = PackOptions { passes, closed_world, sparse, drop_syment, ..PackOptions::default() };
        let Ok(PackDecision::Pack(plan)) = plan_pack(&file, &options) else { continue };
        let edit = BindEdit {
            not_interposed: options
                .closed_world
                .iter()
                .filter_map(|world| world.not_interposed.clone())
                .flatten()
                .collect(),
            pure_virtual: plan.summary.pure_virtual > 0,
            stub: options.passes.has(Pass::Stub),
            lower_alignment: plan.summary.lowers_alignment(),
        };
        let packed = plan.script.to_vec(bytes).expect("the script copies what is there");
        assert_eq!(packed.len() as u64, plan.summary.size_after);
        if prove_bound(Source::in_memory(bytes), Source::in_memory(&packed), &edit).is_err() {
            continue;
        }
        prove_identity(Source::in_memory(&packed)).expect("its note identifies it");
        let again = ElfFile::parse(&packed).expect("what is proven can be read");
        // What is refused once stays refused.
        assert!(!matches!(plan_pack(&again, &options), Ok(PackDecision::Pack(_))), "packing twice changes nothing");
        if plan.summary.way_back == WayBack::Kept {
            let back = plan_unpack(&again, ChangedFile::Refuse).expect("the note says how");
            let restored = back.script.to_vec(&packed).expect("the way back copies what is there");
            assert!(restored == bytes, "the way back leads to the original");
            back.check(Source::in_memory(&restored)).expect("the digest is that of the original");
        }
    }
});
