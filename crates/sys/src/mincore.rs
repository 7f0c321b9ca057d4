//! `mincore(2)`: which pages of a file are in the page cache, page by page.
//!
//! It works on a mapping, so one is created and removed again. The mapping is private and allows no access, and
//! is never dereferenced: no page is touched, a shrinking file cannot raise `SIGBUS`, and
//! `mlockall(MCL_FUTURE)` in the caller does not read the file in. (`PROT_NONE` changes nothing for `mincore`, which looks
//! at the page cache of the mapped file.)
//!
//! Pitfall: for a caller who neither owns the file nor may write it, the kernel reports "all resident" instead of an error,
//! to close a side channel. This function cannot tell; callers must check first. Block devices are a second pitfall: on them
//! it was seen to return nonsense; use [`crate::cachestat`].
//!
//! Source: `mm/mincore.c`, `can_do_mincore`, `mincore_page`; the check is there since Linux 5.2.

use std::os::fd::AsFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::facility_error::FacilityError;

/// One entry for each base page (`sysconf(_SC_PAGESIZE)`) of bytes `offset .. offset + length`: is it resident?
///
/// `offset` must be a multiple of the base page. The result takes one byte a page: query large files in parts. Pages
/// past the end of the file are permitted; pages still being read do not count.
///
/// # Errors
/// [`FacilityError::Unsupported`] for files that cannot be mapped; [`FacilityError::NotPermitted`] for a descriptor that
/// was not opened for reading; [`FacilityError::Failed`] without address space or memory, or with an unaligned `offset`.
pub fn mincore(file: impl AsFd, offset: u64, length: usize) -> Result<Vec<bool>, FacilityError> {
    let error = |errno| FacilityError::new("mincore", errno, &[Errno::NODEV]);
    if length == 0 {
        return Ok(Vec::new());
    }
    let mut pages = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a fresh place chosen by the kernel, so no existing mapping changes; it allows no access and no reference to
    // its content is ever made.
    let place = unsafe { mmap(ptr::null_mut(), length, ProtFlags::empty(), MapFlags::PRIVATE, file, offset) };
    let place = place.map_err(error)?;
    // SAFETY: `place` is a mapping of `length` bytes that only this function knows, and `pages` has a byte for each of its
    // pages, which is what the kernel writes.
    let result = unsafe { libc::mincore(place, length, pages.as_mut_ptr()) };
    let failure = (result != 0).then(std::io::Error::last_os_error);
    // SAFETY: the mapping made above, which nothing refers to.
    unsafe { munmap(place, length) }.map_err(error)?;
    match failure {
        Some(failure) => Err(error(Errno::from_io_error(&failure).unwrap_or(Errno::IO))),
        // Only the lowest bit has a meaning; mincore(2) reserves the others.
        None => Ok(pages.into_iter().map(|page| page & 1 == 1).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_program_is_resident_and_what_lies_past_its_end_is_not() {
        let path = std::env::current_exe().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let page = rustix::param::page_size();
        let past_end = file.metadata().unwrap().len().next_multiple_of(page as u64) + (64 << 20);
        assert!(mincore(&file, 0, 1).unwrap()[0], "the ELF header of a running program");
        assert_eq!(mincore(&file, past_end, 3 * page).unwrap(), [false; 3]);
        assert!(mincore(&file, 0, 0).unwrap().is_empty());
        assert_eq!(mincore(&file, 1, page).unwrap_err().errno(), Errno::INVAL);
    }

    #[test]
    fn what_cannot_be_mapped_is_unsupported() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert!(matches!(mincore(&reader, 0, 1), Err(FacilityError::Unsupported { .. })));
    }
}
