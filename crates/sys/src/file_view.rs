//! A whole file as bytes, without reading it first: mapped, and safe from a file that shrinks meanwhile.
//!
//! Reading a mapped page that the file no longer has kills the process with `SIGBUS`. Here it gives zeros, and
//! [`FileView::shrank`] tells (see `guarded_ranges.rs` for how). The newcomer's trap: such a page stays zeros in this
//! view even if the file grows again, and a file cut within its last page is not noticed at all, because the kernel
//! itself fills the rest of that page with zeros.
//!
//! What nobody can promise: another process may *change* the file, and the bytes change under the `&[u8]`. Rust's rules
//! say they must not; like every crate that maps files we accept this. Whoever reads a view treats each byte as hostile
//! and never relies, for memory safety, on reading the same value twice.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::fs::{FileType, fstat};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::guarded_ranges::GuardedRange;

/// A regular file's bytes as long as it was when mapped. The descriptor may be closed meanwhile.
///
/// Look at the bytes from our own code: a system call that is handed bytes the file has lost fails with `EFAULT`, and a
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
    /// The length is what `fstat` tells: files that have no length before they are read (procfs) are empty here.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a regular file; `FileTooLarge` where it does not fit the address space's
    /// numbers; the kernel's answer to `fstat`, `mmap` or `sigaction` otherwise.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        let status = fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // A slice is never longer than isize::MAX.
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

    /// Whether some page that was looked at since [`Self::map`] could not be read, because the file was shortened
    /// meanwhile or on an I/O error. Its bytes read as zeros, so whatever was concluded from them is worth nothing: ask
    /// last, after the reading threads are done. (With no mapping left for the process, `vm.max_map_count`, the whole
    /// view turns to zeros.)
    pub fn shrank(&self) -> bool {
        self.guard.as_ref().is_some_and(GuardedRange::filled)
    }

    /// Gives the process's memory for the whole pages in `range` back; the file's last page counts as whole when the
    /// range reaches the end. The pages stay in the page cache and are mapped from there when next looked at.
    ///
    /// It is advice: a range outside the file, or pages locked in memory, change nothing.
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
