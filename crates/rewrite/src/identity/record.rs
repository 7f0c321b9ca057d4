//! The fourth note: its bytes.

use std::ops::Range;

use coldstart_elf::{FileOffset, FileSpan, Position};

use super::parts::Parts;
use crate::layout;

/// Sizes in bytes of what is at its beginning: the file's size, its digest, the check of the note.
const SIZE: usize = 8;
const DIGEST: usize = 32;
const CHECK: usize = 8;
const HEAD: usize = SIZE + DIGEST + CHECK;

/// What the note says about the file that it was written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded<'data> {
    /// Size of the file in bytes.
    pub(super) size: u64,
    /// BLAKE3 of the file, with the digest's and the check's own bytes as zeros.
    pub(super) digest: [u8; DIGEST],
    /// The first bytes of BLAKE3 of the section, with the check's own bytes as zeros.
    pub(super) check: [u8; CHECK],
    /// Fingerprints of the file's parts.
    pub(super) parts: &'data [u8],
    /// Where the note's content begins in the file.
    at: FileOffset,
}

impl<'data> Recorded<'data> {
    /// Reads the note's content, which begins at `at` in the file; `None` if it is too short.
    pub(crate) fn read(content: &'data [u8], at: FileOffset) -> Option<Self> {
        let (size, rest) = content.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (check, parts) = rest.split_first_chunk()?;
        Some(Self { size: u64::from_le_bytes(*size), digest: *digest, check: *check, parts, at })
    }

    /// Size of the content in bytes, for so many sections and dynamic entries.
    pub(crate) fn size_for(sections: usize, entries: usize) -> usize {
        // The size of what is in memory: it does not wrap.
        HEAD.wrapping_add(Parts::size_for(sections, entries))
    }

    /// The bytes of the file that its digest counts as zeros; `None` if no file reaches so far.
    pub(super) fn uncounted(&self) -> Option<FileSpan> {
        FileSpan::new(self.at.plus(SIZE as u64).ok()?, (DIGEST + CHECK) as u64).ok()
    }

    /// The bytes of the file that the check counts as zeros; `None` if no file reaches so far.
    pub(super) fn unchecked(&self) -> Option<FileSpan> {
        FileSpan::new(self.at.plus((SIZE + DIGEST) as u64).ok()?, CHECK as u64).ok()
    }
}

/// Fills a new note in. `before` has seen the file up to `end`, which holds the rest; the section is at `section` in
/// that, the identity's first byte at `identity`.
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
    // Digest and check are still zeros.
    before.update(end);
    put(end, SIZE, before.finalize().as_bytes());
    let check = check_of(end.get(section).unwrap_or(&[]));
    put(end, SIZE + DIGEST, &check);
}

/// The check of a section's bytes.
pub(super) fn check_of(section: &[u8]) -> [u8; CHECK] {
    let digest = *blake3::hash(section).as_bytes();
    digest.first_chunk().copied().unwrap_or_default()
}
