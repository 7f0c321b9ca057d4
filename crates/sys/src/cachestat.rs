//! `cachestat(2)`: how many pages of a file range are in the page cache, and in which state.
//!
//! It reads only the file's page tree, so it is cheap (3 ms for 1500 calls) and works on block devices, where
//! `mincore` does not. Not obvious: a length of 0 means "to the end of everything", and large folios extend past the end of
//! the file, so a range must be cut at the file's size or pages beyond it are counted.
//!
//! It reads the open file's own page tree. File systems that pass data through (overlayfs, FUSE passthrough) keep
//! nothing there and return 0 for a file that is fully resident; the caller has to know them.
//!
//! Source: `mm/filemap.c`, `filemap_cachestat`, `can_do_cachestat`; `include/uapi/linux/mman.h`. Since Linux 6.5.

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use crate::facility_error::FacilityError;

/// `SYS_cachestat`; the same number on every architecture but Alpha and MIPS.
const SYS_CACHESTAT: libc::c_long = 451;

/// Pages of a range of a file, counted in the kernel's base pages (`sysconf(_SC_PAGESIZE)`), not in 4 KiB.
///
/// The counts are not taken atomically and need not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CacheStat {
    /// In the page cache, read or not.
    pub cached: u64,
    /// Dirty and not under write-back.
    pub dirty: u64,
    /// Under write-back.
    pub writeback: u64,
    /// Evicted pages that the kernel still remembers.
    pub evicted: u64,
    /// Of those, pages evicted so recently that reading them back would indicate memory pressure.
    pub recently_evicted: u64,
}

#[repr(C)]
struct CacheStatRange {
    offset: u64,
    length: u64,
}

/// Counts the pages of bytes `offset .. offset + length`. An empty range has no pages and makes no call.
///
/// # Errors
/// [`FacilityError::Unsupported`] before Linux 6.5 and on hugetlbfs; [`FacilityError::NotPermitted`] where the caller
/// neither owns the file nor may write it (kernels since 2025; older ones do not check).
pub fn cachestat(file: impl AsFd, offset: u64, length: u64) -> Result<CacheStat, FacilityError> {
    let mut stat = CacheStat::default();
    if length == 0 {
        return Ok(stat);
    }
    let range = CacheStatRange { offset, length };
    // SAFETY: the descriptor is borrowed for the call; the kernel reads `range` and writes `stat`, whose layouts are
    // `struct cachestat_range` and `struct cachestat`, and keeps neither pointer.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_fd().as_raw_fd(), &raw const range, &raw mut stat, 0 as libc::c_uint)
    };
    if result == 0 {
        return Ok(stat);
    }
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    Err(FacilityError::new("cachestat", errno, &[]))
}

/// Whether this kernel has the call (since Linux 6.5) and no filter of system calls hides it.
pub fn is_there() -> bool {
    // SAFETY: the kernel looks up the descriptor first, and there is none with this number, so it reads and writes nothing.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, -1 as libc::c_int, 0usize, 0usize, 0 as libc::c_uint) };
    result == 0 || Errno::from_io_error(&std::io::Error::last_os_error()) == Some(Errno::BADF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn counts_fresh_pages_as_cached_and_dirty() {
        if !is_there() {
            return coldstart_testing::skip("this kernel lacks cachestat (Linux 6.5)");
        }
        let directory = std::env::current_exe().unwrap();
        let mut file = tempfile_in(directory.parent().unwrap());
        let page = rustix::param::page_size() as u64;
        file.write_all(&vec![1; 5 * page as usize]).unwrap();
        let stat = cachestat(&file, page, 2 * page).unwrap();
        assert_eq!(stat.cached, 2);
        assert!(stat.dirty + stat.writeback <= 2);
        assert_eq!(cachestat(&file, 0, 0).unwrap(), CacheStat::default());
        assert_eq!(cachestat(&file, 50 * page, page).unwrap().cached, 0);
    }

    /// An unnamed file on the disk that holds the test program: /tmp may be memory.
    fn tempfile_in(directory: &std::path::Path) -> std::fs::File {
        use rustix::fs::{Mode, OFlags};
        rustix::fs::open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
            .unwrap()
            .into()
    }
}
