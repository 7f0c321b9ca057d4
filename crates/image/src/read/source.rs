//! Where an image's bytes come from, and numbers in them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any place.
pub trait ReadAt {
    /// Their number.
    ///
    /// # Errors
    /// The system's error.
    fn size(&self) -> io::Result<u64>;

    /// Fills the buffer from an offset on.
    ///
    /// # Errors
    /// `UnexpectedEof`, or the system's error.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl ReadAt for &[u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A little-endian number of 2 bytes; 0 beyond the end, which callers exclude by records of fixed size.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u16::from_le_bytes)
}

/// As [`u16_at`], of 4 bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes)
}

/// As [`u16_at`], of 8 bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_le_bytes)
}
