//! Undo data: the script that restores the original from the rewritten file, small enough for a note.
//!
//! Most of the original is copied in the new file and only needs a reference. The rest is encoded as compactly as
//! possible: relocation records are derived from the RELR table and the words, headers are stored as differences from
//! the new ones.

mod codec;

use coldstart_elf::{FileOffset, FileSpan, Position};

use crate::layout::part;
use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch};

pub(crate) use codec::{changed, decode, encode};

/// A position in the new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This offset.
    At(FileOffset),
    /// The section headers; they are after the note, so their offset is unknown.
    SectionHeaders,
}

/// The source of the next bytes of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A copy from this position.
    Copy(FileSpan),
    /// A copy from this position, with these differences added, 8 bytes at a time.
    Changed(Origin, Vec<u8>),
    /// These bytes.
    Bytes(Vec<u8>),
    /// Zeros.
    Zeros(u64),
    /// This many records of relative relocations, the next ones of the old table.
    Relatives(u64),
    /// Records of this type with these symbols, the next ones of the old table. Their words were zero, but for the listed
    /// ones.
    Bound(u32, Vec<u32>),
}

/// The old values of RELR's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Their new values, except for the listed words.
    Same,
    /// Zero.
    Zeros,
}

/// The undo data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    /// Size of the original in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of the original.
    pub(crate) digest: [u8; 32],
    pub(crate) held: Held,
    /// For each relocation of the old table that became RELR, in its order, the index of its word in the RELR table; empty if the
    /// orders are the same. Linkers sort their tables, but not all of them (`gold -z nocombreloc`, Go's own linker).
    pub(crate) order: Vec<u32>,
    pub(crate) steps: Vec<Step>,
    /// Changed words of the new file, ascending: their offsets, with their old values.
    pub(crate) words: Vec<WordPatch>,
}

/// How a range of the original that is not copied can be encoded.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// As a difference from this position in the new file; these are the new bytes.
    Like(Origin, Vec<u8>),
    /// As this many records of relative relocations.
    Relatives(u64),
    /// As records of this type with these symbols.
    Bound(u32, Vec<u32>),
}

/// The copied ranges of the original, with their offsets in the new file. Ascending, without overlaps.
pub(crate) struct Copies(Vec<(FileSpan, FileOffset)>);

impl Copies {
    /// The copies in the pieces of a new file.
    ///
    /// # Errors
    /// If their total size overflows.
    pub(crate) fn of(script: &Script) -> Result<Self, Refusal> {
        let mut at = FileOffset(0);
        let mut all = Vec::new();
        for piece in script.pieces() {
            if let Piece::Copy(range) = piece {
                all.push((*range, at));
            }
            at = at.plus(piece.size())?;
        }
        all.sort_by_key(|(range, _)| range.key());
        let mut end = FileOffset(0);
        let mut copies = Vec::with_capacity(all.len());
        for (range, place) in all {
            // A table may be copied twice, if its old bytes stay unused.
            let start = range.start().max(end);
            if start < range.end() {
                let place = place.plus(start.since(range.start())?)?;
                copies.push((FileSpan::between(start, range.end())?, place));
                end = range.end();
            }
        }
        Ok(Self(copies))
    }

    /// Offset of the original's byte in the new file, if it was copied.
    pub(crate) fn place(&self, at: FileOffset) -> Result<Option<FileOffset>, Refusal> {
        let before = self.0.partition_point(|(range, _)| range.start() <= at).checked_sub(1);
        let found = before.and_then(|before| self.0.get(before)).filter(|(range, _)| range.contains(at));
        Ok(found.map(|(range, place)| place.plus(at.since(range.start())?)).transpose()?)
    }
}

/// The steps to restore `original`. `known` are ranges of it with a better encoding than plain bytes, ascending.
///
/// # Errors
/// If a copy exceeds the largest offset.
pub(crate) fn steps_back(original: &[u8], copies: &Copies, known: &[(FileSpan, Known)]) -> Result<Vec<Step>, Refusal> {
    let mut steps = Vec::new();
    let mut at = FileOffset(0);
    for (range, place) in &copies.0 {
        fill(original, FileSpan::between(at, range.start())?, known, &mut steps)?;
        steps.push(Step::Copy(FileSpan::new(*place, range.size())?));
        at = range.end();
    }
    fill(original, FileSpan::between(at, FileOffset(original.len() as u64))?, known, &mut steps)?;
    Ok(steps)
}

/// Encodes a range without copies.
fn fill(original: &[u8], range: FileSpan, known: &[(FileSpan, Known)], steps: &mut Vec<Step>) -> Result<(), Refusal> {
    let mut at = range.start();
    let is_inside = |of: &FileSpan| of.start() >= range.start() && of.end() <= range.end() && !of.is_empty();
    for (of, known) in known.iter().filter(|(of, _)| is_inside(of)) {
        if of.start() < at {
            continue;
        }
        steps.extend(plain(bytes(original, FileSpan::between(at, of.start())?)));
        steps.push(match known {
            Known::Relatives(count) => Step::Relatives(*count),
            Known::Bound(kind, symbols) => Step::Bound(*kind, symbols.clone()),
            Known::Like(place, new) => Step::Changed(*place, codec::differences(bytes(original, *of), new)),
        });
        at = of.end();
    }
    steps.extend(plain(bytes(original, FileSpan::between(at, range.end())?)));
    Ok(())
}

fn plain(bytes: &[u8]) -> Option<Step> {
    match bytes {
        [] => None,
        zeros if zeros.iter().all(|byte| *byte == 0) => Some(Step::Zeros(zeros.len() as u64)),
        bytes => Some(Step::Bytes(bytes.to_vec())),
    }
}

fn bytes(original: &[u8], range: FileSpan) -> &[u8] {
    part(original, range).unwrap_or(&[])
}
