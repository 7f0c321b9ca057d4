//! How much an archive may unpack to. A few kilobytes can otherwise fill a disk.

use std::io::{self, Write};

use coldstart_app::survey::Limits;

/// What is left of the limits.
#[derive(Debug)]
pub struct Room {
    pub(crate) depth: u32,
    files: u64,
    bytes: u64,
}

/// Small archives may unpack to this much, whatever the ratio: one page of zeros packs very well.
const ALWAYS: u64 = 64 << 20;

impl Room {
    /// For an archive of so many bytes.
    pub fn new(limits: &Limits, packed: u64) -> Self {
        let by_ratio = packed.saturating_mul(limits.ratio).max(ALWAYS);
        Self { depth: limits.depth, files: limits.files, bytes: limits.bytes.min(by_ratio) }
    }

    /// For so many files and bytes, and no archive inside.
    pub(crate) fn of(files: u64, bytes: u64) -> Self {
        Self { depth: 1, files, bytes }
    }

    /// The files and bytes that are left.
    pub(crate) fn left(&self) -> (u64, u64) {
        (self.files, self.bytes)
    }

    /// Takes a file from the limit.
    pub(crate) fn take_file(&mut self) -> Result<(), Exceeded> {
        self.files = self.files.checked_sub(1).ok_or(Exceeded("it has too many files"))?;
        Ok(())
    }

    fn take_bytes(&mut self, count: u64) -> Result<(), Exceeded> {
        self.bytes = self
            .bytes
            .checked_sub(count)
            .ok_or(Exceeded("it unpacks to far more than its size; it may be a zip bomb"))?;
        Ok(())
    }
}

/// A limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Exceeded(pub(crate) &'static str);

/// A writer that takes each byte from the limit.
#[derive(Debug)]
pub(crate) struct Within<'room, W> {
    pub(crate) writer: W,
    pub(crate) room: &'room mut Room,
}

impl<W: Write> Write for Within<'_, W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.room.take_bytes(buffer.len() as u64).map_err(io::Error::other)?;
        self.writer.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
