//! Any file as one whose search for libraries is to be changed: a refusal, or a plan whose result can be taken back to the
//! very bytes it was made of, and that is proven or refused.
//!
//! The edit comes out of the file: its padding in `e_ident` says which parts it has, its last bytes are the names.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_fuzz::search_edit::search_edit;
use coldstart_prove::{Source, prove_identity, prove_search};
use coldstart_rewrite::{ChangedFile, EditNote, plan_search, plan_unpack};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // EI_PAD: seven bytes that nobody reads.
    let Some([parts, count, ..]) = bytes.get(9..16) else { return };
    let Ok(file) = ElfFile::parse(bytes) else { return };
    let edit = search_edit(&file, *parts, usize::from(*count));
    let note = EditNote { name: "bind", content: (*parts & 32 != 0).then_some("{}") };
    let Ok(plan) = plan_search(&file, &edit, note) else { return };
    let output = plan.script.to_vec(bytes).expect("the script copies what is there");
    assert_eq!(output.len() as u64, plan.summary.size_after);
    // What is not proven is never written; hostile files are often not even proven to be the same as themselves.
    if prove_search(Source::in_memory(bytes), Source::in_memory(&output), &edit).is_err() {
        return;
    }
    prove_identity(Source::in_memory(&output)).expect("its note identifies it");
    let again = ElfFile::parse(&output).expect("what is proven can be read");
    let back = plan_unpack(&again, ChangedFile::Refuse).expect("the note says how");
    let restored = back.script.to_vec(&output).expect("the way back copies what is there");
    assert!(restored == bytes, "the way back leads to the original");
    back.check(Source::in_memory(&restored)).expect("the digest is that of the original");
});
