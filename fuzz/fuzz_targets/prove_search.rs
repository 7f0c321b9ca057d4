//! Any file as an original, with another search for libraries: an answer, whatever it is; and whatever is proven says what
//! was asked for, to another reader.
//!
//! The edit comes out of the file: its padding in `e_ident` says which parts it has, its last bytes are the names. The
//! outputs are the file itself, what the planner makes of it, and both with a byte changed.

#![no_main]

use coldstart_elf::{ElfFile, Tag};
use coldstart_fuzz::search_edit::{names, needed, search_edit};
use coldstart_prove::{PathKind, SearchEdit, Source, prove_search};
use coldstart_rewrite::{EditNote, plan_search};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // EI_PAD: seven bytes that nobody reads.
    let Some([parts, count, first, second, third, value, other]) = bytes.get(9..16) else { return };
    let Ok(file) = ElfFile::parse(bytes) else { return };
    let edit = search_edit(&file, *parts, usize::from(*count));
    let (original, mut changed) = (Source::in_memory(bytes), bytes.to_vec());
    check(original, bytes, &edit);
    let at = u32::from_le_bytes([*first, *second, *third, 0]) as usize;
    let damage = |bytes: &mut Vec<u8>| {
        let at = at.checked_rem(bytes.len()).unwrap_or(0);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= value | 1;
        }
        // Headers are what most is read by.
        if let Some(byte) = bytes.get_mut(64 + usize::from(*other) * 4) {
            *byte ^= value & 0x0f;
        }
    };
    damage(&mut changed);
    check(original, &changed, &edit);
    let Ok(plan) = plan_search(&file, &edit, EditNote { name: "bind", content: None }) else { return };
    let mut output = plan.script.to_vec(bytes).expect("the script copies what is there");
    check(original, &output, &edit);
    check(Source::in_memory(&changed), &output, &edit);
    check(original, &output, &SearchEdit::default());
    check(Source::in_memory(&output), bytes, &edit);
    damage(&mut output);
    check(original, &output, &edit);
});

fn check(original: Source<'_>, output: &[u8], edit: &SearchEdit) {
    if prove_search(original, Source::in_memory(output), edit).is_err() {
        return;
    }
    let Ok(file) = ElfFile::parse(output) else { return };
    assert_eq!(needed(&file), edit.needed);
    let path = |kind: PathKind| -> Vec<Vec<u8>> {
        edit.path.iter().filter(|path| path.kind == kind).map(|path| path.text.clone()).collect()
    };
    assert_eq!(names(&file, Tag::RPATH), path(PathKind::Rpath));
    assert_eq!(names(&file, Tag::RUNPATH), path(PathKind::Runpath));
}
