//! Text for what a proof compared.

use coldstart_prove::Proof;

use crate::output::text::{counted, size};

/// What was compared.
pub(in super::super) fn proof_words(proof: &Proof) -> String {
    let parts = [
        (proof.symbols, "symbol"),
        (proof.other_relocations, "other relocation"),
        (proof.sections, "section"),
        (proof.notes, "note"),
        (proof.unwind_entries, "unwind entry"),
    ];
    let counts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun));
    let biases = proof.load_biases.len() as u64;
    let memory = format!(
        "{} of memory with {} at {}",
        size(proof.memory_bytes),
        counted(proof.relative_relocations, "relocated word"),
        counted(biases, "address")
    );
    let mut text = std::iter::once(memory).chain(counts).collect::<Vec<_>>().join(", ");
    text.push_str(": the same");
    if proof.bound_references > 0 {
        let references = counted(proof.bound_references, "reference");
        text.push_str(&format!("; {references} to its own definitions: their addresses, without a look-up"));
    }
    text
}
