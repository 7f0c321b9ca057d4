//! The undo data of a packed file: the ranges of the original that are derived from the new file, and how.

use coldstart_elf::{FileSpan, Position, Tag};

use super::assemble::Parts;
use super::in_place::UNDO_BYTES;
use super::relatives::Fate;
use super::versions::Guard;
use crate::assembly::WayBackRule;
use crate::refusal::Refusal;
use crate::undo::{Known, Origin};

/// Undo data may always take this many bytes, and this share of the saving. In random order, 64-bit records take an
/// eighth of their size; words with other values take more.
pub(super) const ALWAYS: u64 = 4096;
const PART: u64 = 4;

/// The size limit of the undo data.
pub(super) fn rule(parts: &Parts<'_, '_>, asked: bool) -> WayBackRule {
    if !asked {
        return WayBackRule::Declined;
    }
    let of_saving = parts.relatives.saved_bytes().checked_div(PART).unwrap_or(0).max(ALWAYS);
    // What is bound in its table saves time, not bytes.
    WayBackRule::AtMost(of_saving.saturating_add(parts.bound_in_place.saturating_mul(UNDO_BYTES)))
}

/// Ranges of the original that are derived from the new file, other than headers and the dynamic table.
pub(super) fn known(parts: &Parts<'_, '_>) -> Result<Vec<(FileSpan, Known)>, Refusal> {
    let Parts { layout, relatives, guard, .. } = *parts;
    let mut known = Vec::new();
    for run in &relatives.runs {
        let packed = match run.fate {
            Fate::Kept => continue,
            Fate::Relative => Known::Relatives(run.records.len() as u64),
            Fate::Bound(kind) => Known::Bound(kind, relatives.symbols(&run.records)),
        };
        known.push((relatives.file_span(&run.records)?, packed));
    }
    if let (Guard::Added(added), Some(table)) = (guard, layout.placed.of(Tag::VERNEED))
        && let Some(old) = table.role.old()
    {
        let new_start = layout.run.offset_of(table.memory.start())?;
        let split = old.file.start().plus(added.place)?;
        let (first, rest) = added.table.split_at_checked(added.place as usize).unwrap_or_default();
        let rest = rest.get(added.size as usize..).unwrap_or(&[]);
        let before = FileSpan::between(old.file.start(), split)?;
        known.push((before, Known::Like(Origin::At(new_start), first.to_vec())));
        let behind = new_start.plus(added.place)?.plus(added.size)?;
        known.push((FileSpan::between(split, old.file.end())?, Known::Like(Origin::At(behind), rest.to_vec())));
    }
    Ok(known)
}
