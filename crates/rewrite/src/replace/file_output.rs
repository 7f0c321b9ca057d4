//! Writes a script's output to a file: in large writes, with holes for zeros, and with early writeback.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use coldstart_elf::{FileOffset, FileSpan};
use coldstart_sys::write_back::start_write_back;
use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::Errno;

use crate::script::Output;

/// Smaller pieces are buffered up to this many bytes.
const PORTION: usize = 1 << 20;
/// Writeback is started after this many new bytes.
const WRITTEN_BACK: u64 = 16 << 20;
/// The allocation unit of file systems.
const BLOCK: usize = 4096;
/// The magic number of a file system with expensive preallocation (`linux/magic.h`).
const BTRFS_SUPER_MAGIC: u64 = 0x9123_683e;

/// A file that is written from its start.
#[derive(Debug)]
pub(super) struct FileOutput<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// File offset of the buffer.
    position: u64,
    written_back: u64,
    holes: Vec<FileSpan>,
    /// Whether blocks of zeros become holes, too.
    is_sparse: bool,
}

impl<'a> FileOutput<'a> {
    /// Writes to an empty file at position 0.
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, buffer: Vec::new(), position: 0, written_back: 0, holes: Vec::new(), is_sparse: false }
    }

    /// Like the former, with a hole for each block of zeros: for copies of sparse files.
    pub(super) fn sparse(file: &'a File) -> Self {
        Self { is_sparse: true, ..Self::new(file) }
    }

    /// Flushes the buffer and sets the file size, which is returned.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.file.set_len(self.position)?;
        // Most file systems leave a hole for unwritten ranges. XFS has allocated blocks after the presumed end, and
        // keeps them; if holes cannot be punched, zeros were written or nothing can be done.
        for hole in &self.holes {
            let (start, length) = (hole.start().0, hole.size());
            let _ = fallocate(self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, start, length);
        }
        let _ = start_write_back(self.file, self.written_back, 0);
        Ok(self.position)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_sparse {
            return self.put_all(bytes);
        }
        // Up to the next block boundary, then block by block; adjacent blocks of the same kind are combined.
        let to_block = self.position.wrapping_neg().checked_rem(BLOCK as u64).unwrap_or(0);
        let (first, mut rest) = bytes.split_at_checked(to_block as usize).unwrap_or((bytes, &[]));
        self.put_all(first)?;
        while !rest.is_empty() {
            let is_hole = |block: &[u8]| block.len() == BLOCK && block.iter().all(|byte| *byte == 0);
            let are_holes = rest.chunks(BLOCK).next().is_some_and(is_hole);
            let alike = rest.chunks(BLOCK).take_while(|block| is_hole(block) == are_holes).map(<[u8]>::len).sum();
            let (run, behind) = rest.split_at_checked(alike).unwrap_or((rest, &[]));
            match are_holes {
                true => self.leave(run.len() as u64)?,
                false => self.put_all(run)?,
            }
            rest = behind;
        }
        Ok(())
    }

    /// Leaves a hole at the end of the written data.
    fn leave(&mut self, size: u64) -> io::Result<()> {
        let hole = FileSpan::new(FileOffset(self.position), size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.file.seek(SeekFrom::Start(hole.end().0))?;
        self.holes.push(hole);
        self.position = hole.end().0;
        Ok(())
    }

    fn put_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.position = self.position.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if let Some(new @ WRITTEN_BACK..) = self.position.checked_sub(self.written_back) {
            // Only starts writeback; what cannot start now is done at the end.
            let _ = start_write_back(self.file, self.written_back, new);
            self.written_back = self.position;
        }
        Ok(())
    }
}

impl Write for FileOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Sizes in memory: they do not wrap.
        if self.buffer.len().wrapping_add(bytes.len()) > PORTION {
            self.flush()?;
        }
        if bytes.len() >= PORTION {
            self.put(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.put(&buffer);
        buffer.clear();
        self.buffer = buffer;
        result
    }
}

impl Output for FileOutput<'_> {
    fn skip(&mut self, size: u64) -> io::Result<()> {
        self.flush()?;
        self.leave(size)
    }
}

/// Reserves `size` bytes, so that a full disk is detected before anything is written. Where a file system cannot
/// reserve, writing detects it.
///
/// # Errors
/// The system error if there is no space.
pub(super) fn reserve(file: &File, size: u64) -> io::Result<()> {
    // Preallocated files of Btrfs are not compressed, whatever its mount options say.
    let has_price = fstatfs(file).is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|f| f == BTRFS_SUPER_MAGIC));
    if size == 0 || has_price {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => Err(errno.into()),
        _ => Ok(()),
    }
}
