//! The identity of the file that a note was written for: its size, the digest of its content, and a fingerprint of
//! each part.
//!
//! Undoing an edit verifies the restored file, which says nothing about bytes that only the rewritten file has: an
//! appended payload, another search path. So the note identifies the whole rewritten file, and any other file is
//! refused. The digest treats its own bytes as zeros; the fingerprints only serve to report what changed.

mod change;
mod parts;
mod record;

use std::ops::Range;

use coldstart_elf::{ElfFile, FileOffset, FileSpan};
use serde::Serialize;

use crate::changed::Change;
use crate::layout::part;
use crate::note;

pub(crate) use parts::Survey;
pub(crate) use record::{Recorded, fill};

/// Whether a file is the one that we wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Identity {
    /// Identical, byte for byte.
    Intact,
    /// Its note has a format without identity, so this is unknown.
    Unrecorded,
    /// Changed since.
    Changed {
        /// The change.
        change: Change,
    },
}

/// Whether a file with our note is the one that we wrote; `None` without a note.
///
/// Reads the whole file.
pub fn identify(file: &ElfFile<'_>) -> Option<Identity> {
    let Some(note) = note::read(file) else {
        return change::unreadable(file).map(|change| Identity::Changed { change });
    };
    let Some(recorded) = &note.identity else { return Some(Identity::Unrecorded) };
    Some(match change::since(file, note.section, recorded) {
        None => Identity::Intact,
        Some(change) => Identity::Changed { change },
    })
}

/// BLAKE3 of a file.
pub(crate) fn digest(bytes: &[u8], release: &dyn Fn(Range<usize>)) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    feed(&mut hasher, bytes, release);
    *hasher.finalize().as_bytes()
}

/// BLAKE3 of a file with a range treated as zeros; `None` if the range is outside the file.
fn digest_without(bytes: &[u8], zeros: FileSpan) -> Option<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    feed(&mut hasher, part(bytes, FileSpan::first(zeros.start().0))?, &|_| {});
    let size = part(bytes, zeros)?.len();
    hasher.update(&vec![0; size]);
    let behind = FileSpan::between(zeros.end(), FileOffset(bytes.len() as u64)).ok()?;
    feed(&mut hasher, part(bytes, behind)?, &|_| {});
    Some(*hasher.finalize().as_bytes())
}

fn feed(hasher: &mut blake3::Hasher, bytes: &[u8], release: &dyn Fn(Range<usize>)) {
    const PORTION: usize = 16 << 20;
    let mut start = 0_usize;
    for portion in bytes.chunks(PORTION) {
        hasher.update_rayon(portion);
        // A place in what is in memory: it does not wrap.
        let end = start.wrapping_add(portion.len());
        release(start..end);
        start = end;
    }
}
