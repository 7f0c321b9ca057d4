//! The encoding of the fourth note.

use std::ops::Range;

use coldstart_elf::{FileOffset, FileSpan, Position};

use super::parts::Parts;
use crate::layout;

/// Sizes in bytes of its first fields: the file's size, its digest, the note's checksum.
const SIZE: usize = 8;
const DIGEST: usize = 32;
const CHECK: usize = 8;
const HEAD: usize = SIZE + DIGEST + CHECK;

/// The note's data about its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded<'data> {
    /// Size of the file in bytes.
    pub(super) size: u64,
    /// BLAKE3 of the file, with the bytes of the digest and the checksum as zeros.
    pub(super) digest: [u8; DIGEST],
    /// Truncated BLAKE3 of the section, with the checksum's own bytes as zeros.
    pub(super) check: [u8; CHECK],
    /// Fingerprints of the file's parts.
    pub(super) parts: &'data [u8],
    /// File offset of the note's content.
    at: FileOffset,
}

impl<'data> Recorded<'data> {
    /// Decodes the note's content, which begins at `at` in the file; `None` if it is too short.
    pub(crate) fn read(content: &'data [u8], at: FileOffset) -> Option<Self> {
        let (size, rest) = content.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (check, parts) = rest.split_first_chunk()?;
        Some(Self { size: u64::from_le_bytes(*size), digest: *digest, check: *check, parts, at })
    }

    /// Size of the content in bytes, for these numbers of sections and dynamic entries.
    pub(crate) fn size_for(sections: usize, entries: usize) -> usize {
        // The size of what is in memory: it does not wrap.
        HEAD.wrapping_add(Parts::size_for(sections, entries))
    }

    /// File range that the digest treats as zeros; `None` on overflow.
    pub(super) fn uncounted(&self) -> Option<FileSpan> {
        FileSpan::new(self.at.plus(SIZE as u64).ok()?, (DIGEST + CHECK) as u64).ok()
    }

    /// File range that the checksum treats as zeros; `None` on overflow.
    pub(super) fn unchecked(&self) -> Option<FileSpan> {
        FileSpan::new(self.at.plus((SIZE + DIGEST) as u64).ok()?, CHECK as u64).ok()
    }
}

/// Fills in a new note. `before` has processed the file up to `end`; the section is at `section` in `end`, the
/// identity's first byte at `identity`.
pub(crate) fn fill(
    mut before: blake3::Hasher,
    (end, section, identity): (&mut [u8], Range<usize>, usize),
    size: u64,
    parts: &[u8],
) {
    // A place in what is in memory: it does not wrap.
    let put = |end: &mut [u8], at: usize, bytes: &[u8]| layout::put(end, identity.wrapping_add(at), bytes);
    put(end, 0, &size.to_le_bytes());
    put(end, HEAD, parts);
    // Digest and checksum are still zeros.
    before.update(end);
    put(end, SIZE, before.finalize().as_bytes());
    let check = check_of(end.get(section).unwrap_or(&[]));
    put(end, SIZE + DIGEST, &check);
}

/// The checksum of a section's bytes.
pub(super) fn check_of(section: &[u8]) -> [u8; CHECK] {
    let digest = *blake3::hash(section).as_bytes();
    digest.first_chunk().copied().unwrap_or_default()
}
