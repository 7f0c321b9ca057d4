//! The way back from a packed file: which ranges of the original follow from the new file, and how.

use std::ops::Range;

use coldstart_elf::Tag;

use super::assemble::Parts;
use super::headers::NewHeaders;
use super::relatives::InPlace;
use super::versions::Guard;
use crate::anatomy::{program_header_range, tail};
use crate::identity::digest;
use crate::note::WayBack;
use crate::script::{Script, WordPatch};
use crate::undo::{Copies, Held, Known, SECTION_HEADERS, Undo, encode, steps_back};

/// A way back may take this many bytes in any case, and this part of what packing saves. In random order, 64-bit records
/// take an eighth of their size; words that held something else take more.
const ALWAYS: u64 = 4096;
const PART: u64 = 4;

/// What was written anew, but for the note and what stands behind it.
pub(super) struct Changes<'a, 'data> {
    pub(super) parts: &'a Parts<'a, 'data>,
    /// New values of symbols.
    pub(super) symbols: &'a [WordPatch],
    pub(super) program_headers: &'a NewHeaders,
    /// The dynamic table.
    pub(super) dynamic: &'a [u8],
    /// Headers of the sections that were there.
    pub(super) section_headers: &'a [u8],
}

/// The note's second part.
///
/// # Errors
/// [`WayBack::TooLong`] where it would take too much of what packing saves.
pub(super) fn way_back(changes: &Changes<'_, '_>, script: &Script) -> Result<Vec<u8>, WayBack> {
    let Parts { file, relatives, .. } = *changes.parts;
    let copies = Copies::of(script);
    let mut words: Vec<(u64, u64)> = Vec::new();
    let held = match &relatives.in_place {
        InPlace::Addends => Held::Same,
        InPlace::Zeros => Held::Zeros,
        InPlace::Mixed(before) => {
            words.extend(before.iter().filter_map(|word| Some((copies.place(word.at)?, word.value))));
            Held::Same
        }
    };
    let before = |patch: &WordPatch| {
        let start = usize::try_from(patch.at).ok()?;
        Some((copies.place(patch.at)?, file.encoding().word(file.bytes().get(start..)?)?))
    };
    words.extend(changes.symbols.iter().filter_map(before));
    words.sort_unstable();
    let known = known(changes);
    let steps = steps_back(file.bytes(), &copies, &known);
    let digest = digest(file.bytes(), &|_| {});
    let undo = Undo { size: file.size(), digest, held, order: relatives.order.clone(), steps, words };
    let saved =
        relatives.table.size().saturating_sub(relatives.kept_bytes()).saturating_sub(relatives.relr.len() as u64);
    let longest = saved.checked_div(PART).unwrap_or(0).max(ALWAYS);
    encode(&undo).filter(|undo| undo.len() as u64 <= longest).ok_or(WayBack::TooLong)
}

/// Ranges of the original that follow from the new file.
fn known(changes: &Changes<'_, '_>) -> Vec<(Range<u64>, Known)> {
    let Parts { file, dynamic, layout, relatives, guard, .. } = *changes.parts;
    let mut known = Vec::new();
    let packed = relatives.runs.iter().filter(|run| run.is_packed);
    known.extend(packed.map(|run| (relatives.file_range(&run.records), Known::Relatives(run.records.len() as u64))));
    let headers = program_header_range(file);
    let size = u64::from(file.header().segment_entry_size);
    for (place, (number, raw)) in changes.program_headers.iter().enumerate() {
        let at = |start: u64, number: usize| start.saturating_add(size.saturating_mul(number as u64));
        let Some(number) = number else { continue };
        let old = at(headers.start, *number)..at(headers.start, number.saturating_add(1));
        known.push((old, Known::Like(at(layout.slide.place(headers.start), place), raw.clone())));
    }
    let start = dynamic.file_offset().0;
    known.push((
        start..start.saturating_add(dynamic.size()),
        Known::Like(layout.slide.place(start), changes.dynamic.to_vec()),
    ));
    if let (Guard::Added(added), Some(table)) = (guard, layout.placed.of(Tag::VERNEED))
        && let Some(old) = table.old
    {
        let new_start = layout.run.offset_of(table.address);
        let split = old.offset.saturating_add(added.place);
        let (first, rest) = added.table.split_at_checked(added.place as usize).unwrap_or_default();
        let rest = rest.get(added.size as usize..).unwrap_or(&[]);
        known.push((old.offset..split, Known::Like(new_start, first.to_vec())));
        let behind = new_start.saturating_add(added.place).saturating_add(added.size);
        known.push((split..old.file_range().end, Known::Like(behind, rest.to_vec())));
    }
    known.push((tail::section_headers(file), Known::Like(SECTION_HEADERS, changes.section_headers.to_vec())));
    known.sort_by_key(|(range, _)| range.start);
    known
}
