//! No byte of an output is without a check, and hostile files get an answer.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use coldstart_prove::SearchEdit;

use crate::scene::*;
use crate::search_scene::*;

const ONE: Shape = Shape { moves: true, split: false, grows: false, follows: false };
const TWO: Shape = Shape { moves: true, split: true, grows: false, follows: false };

#[test]
fn no_byte_of_mapped_memory_is_without_a_check() {
    for (linker, shape) in [("bfd", ONE), ("bfd", TWO), ("lld", ONE), ("mold", TWO), ("gold", ONE)] {
        if !linkers().contains(&linker) {
            continue;
        }
        let original = program(linker, &["-pie"]);
        let edit = SearchEdit { loaded_note: Some(note()), ..edit(&original, 3) };
        let output = write(&original, &edit, shape);
        proof(&original, &output, &edit).unwrap();
        // What a word holds counts for nothing where a relocation with an addend of its own replaces it.
        let records = output.content(".rela.dyn").step_by(24).filter(|at| output.number(at + 8, 4) == 8);
        let replaced: Vec<usize> = records.map(|at| output.offset(output.word(at))).collect();
        let is_replaced = |at: usize| replaced.iter().any(|word| (*word..word + 8).contains(&at));
        let is_proven = |damaged: &Elf| proof(&original, damaged, &edit).is_ok();
        let proven = unchecked_bits(&original, &output, is_replaced, is_proven);
        assert!(proven.is_empty(), "{linker}: {proven:x?}");
    }
}

proptest::proptest! {
    /// Headers and tables are damaged in the original, too: an answer, whatever it is, and no panic.
    #[test]
    fn hostile_files_get_an_answer(
        changes in proptest::collection::vec((0_usize..1 << 15, proptest::prelude::any::<u8>()), 1..12),
        length in 0_usize..1 << 16,
    ) {
        static FILES: std::sync::OnceLock<(Elf, SearchEdit, Elf)> = std::sync::OnceLock::new();
        let (original, edit, output) = FILES.get_or_init(|| scene(TWO));
        for file in [original, output] {
            let mut damaged = file.clone();
            for (at, byte) in &changes {
                // Half of the changes go to the headers.
                let at = if byte & 1 == 0 { at % 1500 } else { at % damaged.0.len() };
                damaged.0[at] = *byte;
            }
            damaged.0.truncate(length);
            let _ = proof(&damaged, &damaged, edit);
            let _ = proof(&damaged, original, edit);
            let _ = proof(&damaged, output, edit);
            let _ = proof(original, &damaged, edit);
        }
    }
}
