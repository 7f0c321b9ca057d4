//! A new file, described as edits of an old one: the byte editor.
//!
//! A script is a list of pieces, each a range of the original or bytes of its own. Words inside copied ranges can be
//! patched one by one, because a million of them are cheaper as a sorted list than as a million pieces.

use std::io::{self, Write};

use coldstart_elf::{ByteOrder, Encoding, FileOffset, FileSpan, Position, PositionError};

use coldstart_prove::Source;

/// Copies use chunks of this many bytes.
const PORTION: usize = 1 << 20;
/// Memory of the original is released in chunks of this many bytes.
const RELEASED: usize = 16 << 20;

/// The next part of the new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A range of the original.
    Copy(FileSpan),
    /// New bytes.
    Bytes(Vec<u8>),
    /// This many zeros, as a hole.
    Hole(u64),
}

impl Piece {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Copy(range) => range.size(),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Hole(size) => *size,
        }
    }
}

/// The offset after these pieces.
///
/// # Errors
/// If their total size overflows.
pub(crate) fn end_of(pieces: &[Piece]) -> Result<FileOffset, PositionError> {
    pieces.iter().try_fold(FileOffset(0), |end, piece| end.plus(piece.size()))
}

/// A word of the original with a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WordPatch {
    /// Its offset in the original.
    pub at: FileOffset,
    /// The new value; for 32-bit files, the lower half.
    pub value: u64,
}

/// How to write a new file from an original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    encoding: Encoding,
    pieces: Vec<Piece>,
    patches: Vec<WordPatch>,
    /// Size of the new file in bytes.
    size: u64,
}

impl Script {
    /// A script for an original of this encoding. `patches` change words in copied ranges, and must ascend without
    /// touching one another; those outside every copied range have no effect.
    ///
    /// # Errors
    /// If the pieces together are longer than any file.
    pub fn new(encoding: Encoding, pieces: Vec<Piece>, patches: Vec<WordPatch>) -> Result<Self, PositionError> {
        debug_assert!(patches.is_sorted_by_key(|patch| patch.at));
        let size = end_of(&pieces)?.0;
        Ok(Self { encoding, pieces: join(pieces), patches, size })
    }

    /// The script that changes nothing in a file of `size` bytes.
    pub fn identity(encoding: Encoding, size: u64) -> Self {
        Self { encoding, pieces: join(vec![Piece::Copy(FileSpan::first(size))]), patches: Vec::new(), size }
    }

    /// The pieces in the new file's order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The words to change in copied ranges, ascending.
    pub fn patches(&self) -> &[WordPatch] {
        &self.patches
    }

    /// Size of the new file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes the new file. Memory of the original that has been copied is given back.
    ///
    /// # Errors
    /// `UnexpectedEof` if the original is shorter than a copied range; else what `out` answers.
    pub fn write(&self, original: Source<'_>, out: &mut impl Output) -> io::Result<()> {
        let mut buffer = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Copy(range) => self.copy(original, *range, &mut buffer, out)?,
                Piece::Bytes(bytes) => out.write_all(bytes)?,
                Piece::Hole(size) => out.skip(*size)?,
            }
        }
        Ok(())
    }

    /// The new file in memory.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn to_vec(&self, original: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(Source::in_memory(original), &mut bytes)?;
        Ok(bytes)
    }

    fn copy(
        &self,
        original: Source<'_>,
        range: FileSpan,
        buffer: &mut Vec<u8>,
        out: &mut impl Output,
    ) -> io::Result<()> {
        let range = usize::try_from(range.start().0).ok().zip(usize::try_from(range.end().0).ok());
        let (mut start, end) =
            range.filter(|(_, end)| *end <= original.bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut kept_from = start;
        while start < end {
            let stop = self.portion_end(start, end);
            let portion = original.bytes.get(start..stop).ok_or(io::ErrorKind::UnexpectedEof)?;
            let patches = self.patches_within(FileOffset(start as u64), FileOffset(stop as u64));
            if patches.is_empty() {
                out.write_all(portion)?;
            } else {
                buffer.clear();
                buffer.extend_from_slice(portion);
                self.apply(patches, FileOffset(start as u64), buffer);
                out.write_all(buffer)?;
            }
            start = stop;
            if start.checked_sub(kept_from).is_some_and(|size| size >= RELEASED) || start == end {
                (original.release)(kept_from..start);
                kept_from = start;
            }
        }
        Ok(())
    }

    /// Where the portion that begins at `start` ends: never within a patched word.
    fn portion_end(&self, start: usize, end: usize) -> usize {
        // Both are places in memory.
        let stop = start.checked_add(PORTION).map_or(end, |stop| stop.min(end));
        let before = self.patches.partition_point(|patch| patch.at < FileOffset(stop as u64));
        let last = before.checked_sub(1).and_then(|last| self.patches.get(last));
        let Some(patch_end) = last.map(|patch| patch.at.plus(self.encoding.word_size())) else { return stop };
        let patch_end = patch_end.ok().and_then(|end| usize::try_from(end.0).ok());
        stop.max(patch_end.map_or(end, |patch_end| patch_end.min(end)))
    }

    fn patches_within(&self, start: FileOffset, stop: FileOffset) -> &[WordPatch] {
        let first = self.patches.partition_point(|patch| patch.at < start);
        let last = self.patches.partition_point(|patch| patch.at < stop);
        self.patches.get(first..last).unwrap_or(&[])
    }

    fn apply(&self, patches: &[WordPatch], start: FileOffset, portion: &mut [u8]) {
        let size = self.encoding.word_size() as usize;
        for patch in patches {
            let Some(at) = patch.at.since(start).ok().and_then(|at| usize::try_from(at).ok()) else { continue };
            let word = match self.encoding.byte_order {
                ByteOrder::Little => patch.value.to_le_bytes(),
                ByteOrder::Big if size == 4 => (patch.value << 32).to_be_bytes(),
                ByteOrder::Big => patch.value.to_be_bytes(),
            };
            let place = at.checked_add(size).and_then(|end| portion.get_mut(at..end));
            if let (Some(place), Some(word)) = (place, word.get(..size)) {
                place.copy_from_slice(word);
            }
        }
    }
}

/// Where a new file goes.
pub trait Output: Write {
    /// Leaves `size` zeros.
    ///
    /// # Errors
    /// What the file system answers.
    fn skip(&mut self, size: u64) -> io::Result<()>;
}

impl Output for Vec<u8> {
    fn skip(&mut self, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let size = self.len().checked_add(size).ok_or(io::ErrorKind::FileTooLarge)?;
        self.resize(size, 0);
        Ok(())
    }
}

/// Neighbouring copies as one, nothing empty: a script without edits is one piece.
fn join(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.into_iter().filter(|piece| piece.size() > 0) {
        match (joined.last_mut(), piece) {
            (Some(Piece::Copy(last)), Piece::Copy(next)) => match last.followed_by(&next) {
                Some(both) => *last = both,
                None => joined.push(Piece::Copy(next)),
            },
            (Some(Piece::Bytes(last)), Piece::Bytes(next)) => last.extend(next),
            // The size of all pieces together was looked at before.
            (Some(Piece::Hole(last)), Piece::Hole(next)) => *last = last.wrapping_add(next),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use coldstart_elf::Class;
    use proptest::prelude::*;

    use super::*;

    fn encoding(class: Class, byte_order: ByteOrder) -> Encoding {
        Encoding { class, byte_order, machine: 62 }
    }

    #[test]
    fn without_edits_the_result_is_the_original() {
        let original: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let script = Script::identity(encoding(Class::Elf64, ByteOrder::Little), original.len() as u64);
        assert_eq!(script.to_vec(&original).unwrap(), original);
    }

    #[test]
    fn an_original_that_is_too_short_is_an_error() {
        let script = Script::identity(encoding(Class::Elf64, ByteOrder::Little), 9);
        assert_eq!(script.to_vec(&[0; 8]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn words_are_patched_in_the_files_own_byte_order() {
        for (byte_order, word) in [(ByteOrder::Little, [4, 3, 2, 1]), (ByteOrder::Big, [1, 2, 3, 4])] {
            let patches = vec![WordPatch { at: FileOffset(4), value: 0x0102_0304 }];
            let script =
                Script::new(encoding(Class::Elf32, byte_order), vec![Piece::Copy(FileSpan::first(12))], patches)
                    .unwrap();
            assert_eq!(script.to_vec(&[9; 12]).unwrap(), [[9; 4], word, [9; 4]].concat());
        }
    }

    proptest! {
        /// Against the plain way: patch all of the original, then cut.
        #[test]
        fn patched_pieces_are_the_patched_originals_pieces(
            size in 0_usize..5_000_000,
            cuts in proptest::collection::vec(0_usize..5_000_000, 0..4),
            patched in proptest::collection::btree_map(0_u64..625_000, any::<u64>(), 0..200),
        ) {
            let original: Vec<u8> = (0..size).map(|number| (number % 253) as u8).collect();
            let fits = |at: FileOffset| at.0 + 8 <= size as u64;
            let patches: Vec<WordPatch> = patched.into_iter().map(|(at, value)| WordPatch { at: FileOffset(at * 8), value }).filter(|patch| fits(patch.at)).collect();
            let mut expected = original.clone();
            for patch in &patches {
                expected[patch.at.0 as usize..patch.at.0 as usize + 8].copy_from_slice(&patch.value.to_le_bytes());
            }
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(size) / 8 * 8).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut whole = Vec::new();
            for pair in cuts.windows(2) {
                let place = |at: usize| FileOffset(at as u64);
                pieces.push(Piece::Copy(FileSpan::between(place(pair[0]), place(pair[1])).unwrap()));
                pieces.push(Piece::Bytes(vec![7; 3]));
                pieces.push(Piece::Hole(5));
                whole.extend_from_slice(&expected[pair[0]..pair[1]]);
                whole.extend_from_slice(&[7, 7, 7, 0, 0, 0, 0, 0]);
            }
            let script = Script::new(encoding(Class::Elf64, ByteOrder::Little), pieces, patches).unwrap();
            prop_assert_eq!(script.size(), whole.len() as u64);
            prop_assert_eq!(script.to_vec(&original).unwrap(), whole);
        }
    }
}
