//! Which file a note was written into: its size and the digest of its content, and a fingerprint of each part.
//!
//! Taking an edit back compares what it restores, which says nothing about bytes that only the rewritten file has: a payload
//! that was appended, another search path. So the note identifies the whole rewritten file, and any other file is
//! refused. The digest counts its own place as zeros; the fingerprints are only for telling what changed.

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
    /// It is, byte for byte.
    Intact,
    /// Its note is of a form that does not identify the file, so that nothing can be told.
    Unrecorded,
    /// It was changed since.
    Changed {
        /// How.
        change: Change,
    },
}

/// Whether a file that holds a note of ours is the one that we wrote; `None` if it holds none.
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

/// BLAKE3 of a file with a range of it counted as zeros; `None` if the range is not in it.
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
