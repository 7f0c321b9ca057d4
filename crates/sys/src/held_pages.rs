//! Pages of a file kept in memory for a while, by mapping them.
//!
//! The kernel reclaims pages first that were read and not used yet: under memory pressure, and where unused
//! memory is reclaimed proactively (DAMON's `pageout`) within seconds. A mapped and touched page is spared
//! (`folio_referenced` in `mm/rmap.c`). `MADV_POPULATE_READ` (Linux 5.14) maps and touches without a fault for each page,
//! waits for pages under I/O, and returns an error where a truncated file would raise SIGBUS.

use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// A part of a file that stays mapped until this is dropped. Its bytes are not accessible.
#[derive(Debug)]
pub struct HeldPages {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, and the address is only used to remove it.
unsafe impl Send for HeldPages {}

impl HeldPages {
    /// Reads and maps `length` bytes from `offset`, which must be a multiple of the page size.
    ///
    /// # Errors
    /// `InvalidInput` where the kernel cannot populate (before Linux 5.14) or the offset is not aligned; `EFAULT` where the
    /// file ends before the range does or cannot be read; otherwise the kernel's error of `mmap`.
    pub fn hold(file: impl AsFd, offset: u64, length: usize) -> io::Result<Self> {
        // SAFETY: a new shared read-only mapping at a place of the kernel's choice; nobody ever reads through it, so
        // a file that shrinks meanwhile cannot raise SIGBUS.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        let start = NonNull::new(start).ok_or(io::ErrorKind::InvalidInput)?;
        let held = Self { start, length };
        // SAFETY: advises on exactly the mapping made above.
        unsafe { madvise(start.as_ptr(), length, Advice::LinuxPopulateRead) }?;
        Ok(held)
    }
}

impl Drop for HeldPages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `hold`, which nobody else knows.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pages_are_brought_in_and_a_short_file_is_an_error() {
        let mut file = tempfile::tempfile_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
        file.write_all(&[7; 8 * 4096]).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let held = HeldPages::hold(&file, 4096, 4 * 4096).unwrap();
        let resident = crate::mincore::mincore(&file, 0, 8 * 4096).unwrap();
        assert!(resident[1..5].iter().all(|&resident| resident), "{resident:?}");
        drop(held);
        assert!(HeldPages::hold(&file, 0, 100 * 4096).is_err(), "behind the end there is nothing to hold");
    }
}
