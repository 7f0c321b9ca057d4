//! How to get an original back from a rewritten file: the script in the other direction, small enough for a note.
//!
//! Most of the original is copied in the new file and need only be named. What is gone is told in the shortest way there
//! is: relocation records follow from the RELR table and the words, headers differ little from those that are there now.

mod codec;

use std::ops::Range;

use crate::layout::part;
use crate::script::{Piece, Script};

pub(crate) use codec::{changed, decode, encode};

/// Stands for the place of the section headers, which lie behind the note and whose place it cannot know.
pub(crate) const SECTION_HEADERS: u64 = u64::MAX;

/// Where the next bytes of the original come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// From here in the new file.
    Copy(Range<u64>),
    /// From here in the new file, with these differences added, 8 bytes at a time.
    Changed(u64, Vec<u8>),
    /// These bytes.
    Bytes(Vec<u8>),
    /// Zeros.
    Zeros(u64),
    /// This many records of relative relocations, the next ones of the table that was there.
    Relatives(u64),
}

/// What RELR's words held in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// What they hold now, but for the words listed.
    Same,
    /// Zero.
    Zeros,
}

/// The way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    /// Size of the original in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of the original.
    pub(crate) digest: [u8; 32],
    pub(crate) held: Held,
    /// For each record of a relative relocation, in the order of the table that was there, the number of its word in the
    /// RELR table; empty where that has the same order. Linkers sort their tables, but not all of them (`gold -z
    /// nocombreloc`, Go's own linker).
    pub(crate) order: Vec<u32>,
    pub(crate) steps: Vec<Step>,
    /// Words of the new file that were different, ascending: offset there, value before.
    pub(crate) words: Vec<(u64, u64)>,
}

/// How a range of the original that is not copied can be told.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It is nearly what stands here in the new file; these are the new bytes.
    Like(u64, Vec<u8>),
    /// It is this many records of relative relocations.
    Relatives(u64),
}

/// Where each copied range went: range of the original, and its start in the new file. Ascending, without overlaps.
pub(crate) struct Copies(Vec<(Range<u64>, u64)>);

impl Copies {
    /// Of these pieces of a new file.
    pub(crate) fn of(script: &Script) -> Self {
        let mut at = 0_u64;
        let mut copies = Vec::new();
        for piece in script.pieces() {
            if let Piece::Copy(range) = piece {
                copies.push((range.clone(), at));
            }
            at = at.saturating_add(piece.size());
        }
        copies.sort_by_key(|(range, _)| (range.start, range.end));
        let mut end = 0;
        // A table may be copied twice, when its old bytes stay unused where they are.
        copies.retain_mut(|(range, place)| {
            let cut = end.max(range.start).saturating_sub(range.start);
            range.start = range.start.saturating_add(cut);
            *place = place.saturating_add(cut);
            end = end.max(range.end);
            range.start < range.end
        });
        Self(copies)
    }

    /// Where a byte of the original stands in the new file.
    pub(crate) fn place(&self, at: u64) -> Option<u64> {
        let before = self.0.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;
        let (range, place) = self.0.get(before)?;
        range.contains(&at).then(|| at.saturating_sub(range.start).saturating_add(*place))
    }
}

/// The steps back to `original`. `known` are ranges of it with a better way than their bytes, ascending.
pub(crate) fn steps_back(original: &[u8], copies: &Copies, known: &[(Range<u64>, Known)]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = 0;
    for (range, place) in &copies.0 {
        fill(original, at..range.start, known, &mut steps);
        steps.push(Step::Copy(*place..place.saturating_add(range.end.saturating_sub(range.start))));
        at = range.end;
    }
    fill(original, at..original.len() as u64, known, &mut steps);
    steps
}

/// Tells a range that is copied nowhere.
fn fill(original: &[u8], range: Range<u64>, known: &[(Range<u64>, Known)], steps: &mut Vec<Step>) {
    let mut at = range.start;
    for (of, known) in known.iter().filter(|(of, _)| of.start >= range.start && of.end <= range.end && !of.is_empty()) {
        if of.start < at {
            continue;
        }
        steps.extend(plain(bytes(original, at..of.start)));
        steps.push(match known {
            Known::Relatives(count) => Step::Relatives(*count),
            Known::Like(place, new) => Step::Changed(*place, codec::differences(bytes(original, of.clone()), new)),
        });
        at = of.end;
    }
    steps.extend(plain(bytes(original, at..range.end)));
}

fn plain(bytes: &[u8]) -> Option<Step> {
    match bytes {
        [] => None,
        zeros if zeros.iter().all(|byte| *byte == 0) => Some(Step::Zeros(zeros.len() as u64)),
        bytes => Some(Step::Bytes(bytes.to_vec())),
    }
}

fn bytes(original: &[u8], range: Range<u64>) -> &[u8] {
    part(original, range).unwrap_or(&[])
}
