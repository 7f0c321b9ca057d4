//! Where a file's bytes lie in the image, and those bytes.

use super::Image;
use super::error::{ReadError, Result};
use super::inode::{Inode, InodeType, Layout};
use super::source::{ReadAt, u16_at, u32_at};
use super::units::Packed;

/// Bytes of a chunk table that are read at once.
const TABLE_PART: u64 = 4096;
/// A chunk's address that means a hole.
const HOLE: u32 = u32::MAX;
/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 4095;

/// Bytes of a file that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes, at least 1.
    pub length: u64,
    /// Offset in the image; `None` for a hole. Of a compressed piece, that of its frame.
    pub place: Option<u64>,
    /// Of a compressed piece: the unit that it is part of.
    pub packed: Option<Packed>,
}

/// The pieces of a file, in order, from an offset on.
#[derive(Debug)]
pub struct Pieces<'image, S> {
    image: &'image Image<S>,
    inode: &'image Inode,
    offset: u64,
    /// Part of the chunk table, and the number of its first chunk.
    table: (u64, Vec<u8>),
    failed: bool,
}

impl<S: ReadAt> Image<S> {
    /// The pieces of a file's content, in order. After an error there are no more.
    pub fn pieces<'image>(&'image self, inode: &'image Inode) -> Pieces<'image, S> {
        self.pieces_from(inode, 0)
    }

    /// As [`Self::pieces`], from an offset on.
    pub(crate) fn pieces_from<'image>(&'image self, inode: &'image Inode, offset: u64) -> Pieces<'image, S> {
        Pieces { image: self, inode, offset, table: (0, Vec::new()), failed: false }
    }

    /// Fills a buffer from an offset of a file on. All of it must lie in the file.
    ///
    /// # Errors
    /// [`ReadError`]: malformed, or outside the image or the file.
    pub fn read_at(&self, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= inode.size);
        if end.is_none() {
            let (what, needed) = ("part of a file", buffer.len() as u64);
            return Err(ReadError::OutOfImage { what, offset: inode.offset, needed, available: inode.size });
        }
        let mut pieces = self.pieces_from(inode, offset);
        let mut rest = buffer;
        while !rest.is_empty() {
            let piece = pieces.next().ok_or(ReadError::malformed("a file", inode.offset, "it ends too early"))??;
            let length = usize::try_from(piece.length).unwrap_or(usize::MAX).min(rest.len());
            let (part, after) = rest.split_at_mut(length);
            match (piece.packed, piece.place) {
                (Some(packed), _) => self.unpack_part(&packed, piece.offset, part)?,
                (None, Some(place)) => self.raw("a file's content", place, part)?,
                (None, None) => part.fill(0),
            }
            rest = after;
        }
        Ok(())
    }

    /// Where the byte at an offset of a file lies in the image; `None` for a hole or behind the file's end. Of a compressed byte, where its
    /// frame lies.
    ///
    /// # Errors
    /// [`ReadError`]: malformed, or outside the image.
    pub fn place_of(&self, inode: &Inode, offset: u64) -> Result<Option<u64>> {
        Ok(self.pieces_from(inode, offset).next().transpose()?.and_then(|piece| piece.place))
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`ReadError`]: empty, too long, with a NUL, or outside the image.
    pub fn target(&self, inode: &Inode) -> Result<Vec<u8>> {
        let malformed = |problem| ReadError::malformed("a symbolic link", inode.offset, problem);
        if inode.file_type != InodeType::Symlink {
            return Err(malformed("it is another kind of file"));
        }
        if inode.size == 0 || inode.size > LONGEST_TARGET {
            return Err(malformed("its target has an impossible length"));
        }
        let target = self.bytes(inode, 0, inode.size)?;
        if target.contains(&0) {
            return Err(malformed("its target contains a NUL"));
        }
        Ok(target)
    }
}

impl<S: ReadAt> Pieces<'_, S> {
    fn piece(&mut self) -> Result<Piece> {
        let (offset, inode) = (self.offset, self.inode);
        let rest = inode.size.saturating_sub(offset);
        match inode.layout {
            Layout::Plain { block } => self.in_blocks(block, offset, rest),
            Layout::Inline { block } => {
                let size = self.image.superblock.block_size();
                let tail = inode.size.saturating_sub(1) & !size.saturating_sub(1);
                if offset < tail {
                    return self.in_blocks(block, offset, tail.saturating_sub(offset));
                }
                let start = inode.end().saturating_add(offset.saturating_sub(tail));
                let last = start.saturating_add(rest).saturating_sub(1);
                if inode.end() >> self.image.superblock.block_bits != last >> self.image.superblock.block_bits {
                    return Err(ReadError::malformed("an inode", inode.offset, "its inline data crosses a block"));
                }
                self.image.check("inline data", start, rest)?;
                Ok(Piece { offset, length: rest, place: Some(start), packed: None })
            }
            Layout::Chunks { bits, record } => self.chunks(bits, record),
            Layout::Units { count } => self.image.unit(inode, count, offset),
        }
    }

    fn in_blocks(&self, block: u32, offset: u64, length: u64) -> Result<Piece> {
        let place = self.image.superblock.block_offset(block).saturating_add(offset);
        self.image.check("a file's content", place, length)?;
        Ok(Piece { offset, length, place: Some(place), packed: None })
    }

    /// The chunk at the offset, with those behind it that continue it.
    fn chunks(&mut self, bits: u32, record: u64) -> Result<Piece> {
        let (offset, size) = (self.offset, self.inode.size);
        let mask = (1u64 << bits).saturating_sub(1);
        let within = offset & mask;
        let mut end = (offset | mask).saturating_add(1);
        let place = self.chunk(offset >> bits, record)?;
        // A hostile table of equal records would take long for a large file; as much as one part is enough for one piece.
        for _ in 0..TABLE_PART {
            if end >= size {
                break;
            }
            let expected = place.map(|place| place.saturating_add(end.saturating_sub(offset & !mask)));
            if self.chunk(end >> bits, record)? != expected {
                break;
            }
            end = (end | mask).saturating_add(1);
        }
        let length = end.min(size).saturating_sub(offset);
        let place = place.map(|place| place.saturating_add(within));
        if let Some(place) = place {
            self.image.check("a file's content", place, length)?;
        }
        Ok(Piece { offset, length, place, packed: None })
    }

    /// Where a chunk lies.
    fn chunk(&mut self, number: u64, record: u64) -> Result<Option<u64>> {
        let (first, table) = &self.table;
        let known = number.checked_sub(*first).and_then(|index| usize::try_from(index.checked_mul(record)?).ok());
        let size = usize::try_from(record).unwrap_or(8);
        let found = known.and_then(|at| table.get(at..at.checked_add(size)?));
        let bytes = match found {
            Some(bytes) => bytes,
            None => {
                self.load(number, record)?;
                self.table.1.get(..size).unwrap_or_default()
            }
        };
        let malformed = |problem| Err(ReadError::malformed("a chunk of an inode", self.inode.offset, problem));
        let block = match record {
            4 => u32_at(bytes, 0),
            _ if u32_at(bytes, 4) == HOLE => HOLE,
            _ if u16_at(bytes, 2) != 0 => return malformed("it lies on another device"),
            _ if u16_at(bytes, 0) != 0 => return malformed("its address has 48 bits"),
            _ => u32_at(bytes, 4),
        };
        Ok((block != HOLE).then(|| self.image.superblock.block_offset(block)))
    }

    /// Reads the part of the table that begins with a chunk.
    fn load(&mut self, number: u64, record: u64) -> Result<()> {
        let Layout::Chunks { bits, .. } = self.inode.layout else { return Ok(()) };
        let count = (self.inode.size.saturating_sub(1) >> bits).saturating_add(1);
        let left = count.saturating_sub(number).saturating_mul(record);
        let start = self.inode.end().next_multiple_of(record);
        let start = start.saturating_add(number.saturating_mul(record));
        self.table = (number, vec![0; usize::try_from(left.min(TABLE_PART)).unwrap_or(0)]);
        self.image.raw("a table of chunks", start, &mut self.table.1)
    }
}

impl<S: ReadAt> Iterator for Pieces<'_, S> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.offset >= self.inode.size {
            return None;
        }
        let piece = self.piece();
        match &piece {
            Ok(piece) => self.offset = self.offset.saturating_add(piece.length),
            Err(_) => self.failed = true,
        }
        Some(piece)
    }
}
