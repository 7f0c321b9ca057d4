//! Compressed files: a table of units behind the inode, each with its place in the image and in the file (`struct z_erofs_extent`).
//!
//! Only what coldstart writes is read: records of 16 bytes, and frames of zstd with nothing in their header but a window of at most
//! 128 KiB. Frames are unpacked by another implementation than the one that made them.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::Image;
use super::content::Piece;
use super::error::{ReadError, Result};
use super::inode::Inode;
use super::source::{ReadAt, u16_at, u32_at, u64_at};

const RECORD: u64 = 16;
/// The table has records, of 4 << 2 bytes (`Z_EROFS_ADVISE_EXTENTS`, `Z_EROFS_ADVISE_EXTRECSZ_BIT`).
const ADVICE: u16 = 0b101;
/// Bits of a record's first field: how many bytes are stored, a flag of partial units, and the compression's number plus 1.
const STORED: u32 = (1 << 21) - 1;
const FORMAT_SHIFT: u32 = 28;
const ZSTD_FORMAT: u32 = 4;
/// Largest unit, in bytes: what the writer makes.
const MOST_UNIT: u64 = 1 << 17;
/// Magic number of a frame, and a descriptor that says: no checksum, no dictionary, no size.
const FRAME_BEGIN: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0];
const UNIT: &str = "a compressed unit";

/// Part of a compressed unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Where the unit begins in the file.
    pub start: u64,
    /// How many bytes of the file it has: at most 128 KiB.
    pub length: u64,
    /// Where its frame lies in the image.
    pub place: u64,
    /// Size of its frame, less than its length.
    pub stored: u64,
}

/// A record of the table.
struct Record {
    /// Number of bytes in the image; 0 for a hole.
    stored: u64,
    format: u32,
    place: u64,
    start: u64,
}

impl<S: ReadAt> Image<S> {
    /// The number of records.
    pub(super) fn unit_count(&self, inode: &Inode) -> Result<u32> {
        let mut header = [0; 8];
        let at = inode.end().next_multiple_of(8);
        self.raw("a table of compressed units", at, &mut header)?;
        let (count, advice, more) = (u32_at(&header, 0), u16_at(&header, 4), u16_at(&header, 6));
        if advice != ADVICE || more != 0 {
            let value = u64::from(advice) << 16 | u64::from(more);
            return Err(ReadError::Unsupported { what: "another form of compression", value, offset: at });
        }
        self.check("a table of compressed units", records(inode), u64::from(count).saturating_mul(RECORD))?;
        Ok(count)
    }

    /// The rest of the unit that an offset of the file lies in.
    pub(super) fn unit(&self, inode: &Inode, count: u32, offset: u64) -> Result<Piece> {
        let malformed = |problem| ReadError::malformed(UNIT, inode.offset, problem);
        let (mut first, mut end) = (0, count);
        // The last record that does not begin behind the offset.
        while end.saturating_sub(first) > 1 {
            let middle = first.midpoint(end);
            if self.record(inode, middle)?.start <= offset { first = middle } else { end = middle }
        }
        if count == 0 {
            return Err(malformed("its file has none"));
        }
        let record = self.record(inode, first)?;
        let next = first.saturating_add(1);
        let unit_end = if next < count { self.record(inode, next)?.start } else { inode.size };
        if record.start > offset || unit_end <= offset || unit_end > inode.size {
            return Err(malformed("it is out of order"));
        }
        let (length, within) = (unit_end.saturating_sub(record.start), offset.saturating_sub(record.start));
        let piece = |place, packed| Piece { offset, length: unit_end.saturating_sub(offset), place, packed };
        if record.stored == 0 {
            return Ok(piece(None, None));
        }
        if length > MOST_UNIT {
            return Err(malformed("it is larger than 128 KiB"));
        }
        self.check(UNIT, record.place, record.stored)?;
        match record.format {
            0 if record.stored == length => Ok(piece(Some(record.place.saturating_add(within)), None)),
            ZSTD_FORMAT if record.stored < length => {
                let packed = Packed { start: record.start, length, place: record.place, stored: record.stored };
                Ok(piece(Some(record.place), Some(packed)))
            }
            0 | ZSTD_FORMAT => Err(malformed("it is stored in an impossible number of bytes")),
            _ => Err(malformed("its compression is not zstd")),
        }
    }

    /// The content of a whole unit.
    ///
    /// # Errors
    /// [`ReadError`]: its frame is outside the image, or not one of this size.
    pub fn unpack(&self, packed: &Packed) -> Result<Vec<u8>> {
        let malformed = |problem| ReadError::malformed(UNIT, packed.place, problem);
        if packed.length > MOST_UNIT || packed.stored >= packed.length {
            return Err(malformed("it is larger than 128 KiB"));
        }
        let mut frame = vec![0; usize::try_from(packed.stored).unwrap_or(0)];
        self.raw(UNIT, packed.place, &mut frame)?;
        // A window of up to 128 KiB: 2 to the power of 10 and the upper five bits, and eighths in the lower three.
        let is_ours = frame.starts_with(&FRAME_BEGIN) && frame.get(5).is_some_and(|window| *window <= 7 << 3);
        if !is_ours {
            return Err(malformed("it does not begin with a frame of zstd that coldstart writes"));
        }
        let broken = malformed("its frame cannot be unpacked to its size");
        let mut rest = frame.as_slice();
        let Ok(mut decoder) = StreamingDecoder::new(&mut rest) else { return Err(broken) };
        let mut content = vec![0; usize::try_from(packed.length).unwrap_or(0)];
        let is_whole = decoder.read_exact(&mut content).is_ok() && matches!(decoder.read(&mut [0]), Ok(0));
        drop(decoder);
        if is_whole && rest.is_empty() { Ok(content) } else { Err(broken) }
    }

    /// Fills a buffer from an offset of the file on, all of which lies in the unit.
    pub(super) fn unpack_part(&self, packed: &Packed, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let content = self.unpack(packed)?;
        let from = usize::try_from(offset.saturating_sub(packed.start)).ok();
        let part = from.and_then(|from| content.get(from..from.checked_add(buffer.len())?));
        buffer.copy_from_slice(part.ok_or(ReadError::malformed(UNIT, packed.place, "it ends too early"))?);
        Ok(())
    }

    fn record(&self, inode: &Inode, number: u32) -> Result<Record> {
        let mut bytes = [0; RECORD as usize];
        let at = records(inode).saturating_add(u64::from(number).saturating_mul(RECORD));
        self.raw("a table of compressed units", at, &mut bytes)?;
        let size = u32_at(&bytes, 0);
        let stored = u64::from(size & STORED);
        let format = (size & !STORED) >> FORMAT_SHIFT;
        if (size & !STORED) & ((1 << FORMAT_SHIFT) - 1) != 0 {
            return Err(ReadError::malformed(UNIT, at, "it is stored in part, or in more than 1 MiB"));
        }
        Ok(Record { stored, format, place: u64_at(&bytes, 4), start: u32_at(&bytes, 12).into() })
    }
}

/// Where the records begin.
fn records(inode: &Inode) -> u64 {
    inode.end().next_multiple_of(8).saturating_add(8).next_multiple_of(RECORD)
}
