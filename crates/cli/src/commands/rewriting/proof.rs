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
    let own = proof.bound_references.saturating_sub(proof.pure_virtual_references);
    if own > 0 {
        let references = counted(own, "reference");
        text.push_str(&format!("; {references} to its own definitions: their addresses, without a look-up"));
    }
    if proof.pure_virtual_references > 0 {
        let references = counted(proof.pure_virtual_references, "reference");
        text.push_str(&format!("; {references} to pure virtual functions: a jump to the same function"));
    }
    text
}
