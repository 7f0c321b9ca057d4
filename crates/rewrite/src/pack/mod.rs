//! Packing: relative relocations to RELR, and the room they took out of the file.

mod decision;

pub use decision::{Caution, NothingToPack, PackDecision, PackOptions, PackPlan, PackSummary, Room, SlotSource};

use coldstart_elf::ElfFile;

use crate::refusal::Refusal;

/// Decides how to pack a file.
///
/// # Errors
/// The reason why it cannot be done safely.
pub fn plan_pack(file: &ElfFile<'_>, _options: &PackOptions) -> Result<PackDecision, Refusal> {
    file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
    Err(Refusal::NoSections)
}
