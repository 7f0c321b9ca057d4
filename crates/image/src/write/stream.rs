//! Bytes to consecutive places of a file, with their digest.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use blake3::Hasher;

use crate::plan::layout::BLOCK;

/// How much is collected before it is written, in bytes.
const PORTION: usize = 1 << 20;

/// A stream that begins at the first byte of the file. The first block is kept, not written.
pub(super) struct Stream<'file> {
    file: &'file File,
    /// Bytes that were put so far.
    position: u64,
    /// The last of them.
    pending: Vec<u8>,
    first_block: Vec<u8>,
    hasher: Hasher,
}

impl<'file> Stream<'file> {
    pub(super) fn new(file: &'file File) -> Self {
        let (pending, first_block) = (Vec::with_capacity(PORTION), Vec::new());
        Self { file, position: 0, pending, first_block, hasher: Hasher::new() }
    }

    /// Offset of what is put next.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        if self.pending.len() >= PORTION { self.flush() } else { Ok(()) }
    }

    /// Puts zeros up to an offset, which is not behind.
    pub(super) fn pad_to(&mut self, offset: u64) -> io::Result<()> {
        let missing = offset.checked_sub(self.position).ok_or(io::ErrorKind::InvalidInput)?;
        self.put(&vec![0; missing as usize])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.pending);
        let start = self.position - self.pending.len() as u64;
        if start < BLOCK {
            // `PORTION` is more than a block, and so is the shortest image.
            let missing = (BLOCK - start) as usize;
            self.first_block.extend(self.pending.iter().take(missing));
            self.file.write_all_at(self.pending.get(missing..).unwrap_or_default(), BLOCK)?;
        } else {
            self.file.write_all_at(&self.pending, start)?;
        }
        self.pending.clear();
        Ok(())
    }

    /// The first block, and the digest of everything.
    pub(super) fn finish(mut self) -> io::Result<(Vec<u8>, [u8; 32])> {
        self.flush()?;
        Ok((self.first_block, *self.hasher.finalize().as_bytes()))
    }
}
