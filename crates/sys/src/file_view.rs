//! A whole file as bytes, mapped rather than read, and safe if the file shrinks meanwhile.
//!
//! Reading a mapped page past the end of a truncated file raises `SIGBUS`. Here it gives zeros, and
//! [`FileView::shrank`] reports it (see `guarded_ranges.rs`). Pitfall: such a page stays zeros in this
//! view even if the file grows again, and a truncation within the last page is not noticed at all, because the kernel
//! itself fills the rest of that page with zeros.
//!
//! No guarantee is possible against another process that *changes* the file: the bytes change under the `&[u8]`. Rust's rules
//! forbid that; like every crate that maps files we accept it. Readers of a view must treat each byte as hostile
//! and must not rely, for memory safety, on reading the same value twice.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::fs::{FileType, fstat};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::guarded_ranges::GuardedRange;

/// A regular file's bytes, with the length at the time of mapping. The descriptor may be closed meanwhile.
///
/// Read the bytes in our own code: a system call on bytes that the file has lost fails with `EFAULT`, and a
/// thread that blocks `SIGBUS` is killed.
#[derive(Debug)]
pub struct FileView {
    /// Absent for an empty file, which has no mapping.
    guard: Option<GuardedRange>,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process and is only read; `release` drops pages that are brought back when next
// read, and the guard's table is made for all threads.
unsafe impl Send for FileView {}
// SAFETY: as above.
unsafe impl Sync for FileView {}

impl FileView {
    /// Maps all of `file`, which must be open for reading. Nothing is read yet.
    ///
    /// The length is that of `fstat`: files without a size before they are read (procfs) are empty here.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a regular file; `FileTooLarge` where it does not fit the address space;
    /// otherwise the kernel's error of `fstat`, `mmap` or `sigaction`.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        let status = fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // A slice must not be longer than isize::MAX.
        let length = isize::try_from(status.st_size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        if length == 0 {
            return Ok(Self { guard: None, start: NonNull::dangling(), length });
        }
        let mut guard = GuardedRange::claim()?;
        // SAFETY: a new private read-only mapping at a place of the kernel's choice; no existing mapping changes.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::InvalidInput)?;
        // Whole pages: libc's `memchr` and its like look at a few bytes more, up to the page's edge.
        guard.publish(start.as_ptr().addr(), length.next_multiple_of(rustix::param::page_size()));
        Ok(Self { guard: Some(guard), start, length })
    }

    /// The file's bytes. Pages that cannot be read are zeros.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is a mapping of `length` readable bytes (or dangling, with length 0) that stays until drop,
        // and no longer than isize::MAX. Pages that the file loses are replaced within the read by the guard. We never
        // write. Not guaranteed by anybody: that the bytes stay the same while another process writes to the file; see
        // the module's text for how readers live with it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Whether some page that was read since [`Self::map`] was unreadable, because the file was truncated
    /// meanwhile or on an I/O error. Its bytes read as zeros, so conclusions from them are invalid: call this
    /// last, after the reading threads are done. (If the process is at its mapping limit, `vm.max_map_count`, the whole
    /// view turns to zeros.)
    pub fn shrank(&self) -> bool {
        self.guard.as_ref().is_some_and(GuardedRange::filled)
    }

    /// Releases the process's memory for the whole pages in `range`; the file's last page counts as whole when the
    /// range reaches the end. The pages stay in the page cache and are mapped again on the next access.
    ///
    /// This is advice: a range outside the file, or locked pages, change nothing.
    pub fn release(&self, range: Range<usize>) {
        let page_size = rustix::param::page_size();
        let end = if range.end >= self.length { self.length } else { range.end - range.end % page_size };
        let Some(start) = range.start.checked_next_multiple_of(page_size) else { return };
        let Some(length) = end.checked_sub(start).filter(|&length| length > 0) else { return };
        // SAFETY: `start + length` is at most `self.length`, so within the mapping, and `start` on a page's edge. A
        // private mapping that nobody can write to has nothing to lose: the pages come back from the file, or as zeros
        // if the guard replaced them.
        let _ = unsafe { madvise(self.start.as_ptr().add(start).cast(), length, Advice::LinuxDontNeed) };
    }
}

impl Drop for FileView {
    fn drop(&mut self) {
        let Some(guard) = self.guard.take() else { return };
        // First the guard: once unmapped, the place may be anybody's. The kernel's lock on the address space puts the
        // withdrawal before whatever is mapped there next.
        drop(guard);
        // SAFETY: exactly the mapping made in `map`; slices of it borrow `self` and are gone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
