//! Closing all descriptors of a forked process but a few.
//!
//! A copy of a pipe's end keeps the pipe open, and a copy of any descriptor keeps its file system mounted, for as long as
//! the process with the copy lives.

use std::io;
use std::os::fd::RawFd;

/// The number of the first descriptor that is kept; the others follow.
pub(crate) const FIRST_KEPT: RawFd = 3;
/// Descriptors are closed up to this one where the kernel has no `close_range` (before Linux 5.9) or a filter refuses it.
const CLOSED_ONE_BY_ONE: RawFd = 4096;

/// Moves `kept` to the numbers from [`FIRST_KEPT`] on, in their order and marked close-on-exec, opens `/dev/null` as the
/// three standard streams, and closes everything else. Where `/dev/null` cannot be opened the standard streams are closed.
/// Makes system calls only.
///
/// # Errors
/// A descriptor cannot be duplicated; nothing is closed then.
///
/// # Safety
/// The process must own nothing that closes or uses a descriptor later by its old number: a child right after `fork`, in
/// which nothing else runs and which never returns into the code of the process it was forked from.
pub(crate) unsafe fn keep_only<const COUNT: usize>(kept: [RawFd; COUNT]) -> io::Result<()> {
    let behind_kept = kept.iter().fold(FIRST_KEPT, |next, _| next + 1);
    // SAFETY: system calls with integers and a terminated string; the caller answers for the descriptors.
    unsafe {
        // First duplicates above the numbers that are about to be overwritten.
        let mut high = [0; COUNT];
        for (high, kept) in high.iter_mut().zip(kept) {
            *high = libc::fcntl(kept, libc::F_DUPFD_CLOEXEC, behind_kept);
            if *high < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let null = libc::fcntl(null, libc::F_DUPFD_CLOEXEC, behind_kept);
        for standard in 0..FIRST_KEPT {
            if libc::dup2(null, standard) < 0 {
                libc::close(standard);
            }
        }
        for (number, high) in (FIRST_KEPT..).zip(high) {
            libc::dup3(high, number, libc::O_CLOEXEC);
        }
        if libc::syscall(libc::SYS_close_range, behind_kept, u32::MAX, 0) < 0 {
            for descriptor in behind_kept..CLOSED_ONE_BY_ONE {
                libc::close(descriptor);
            }
        }
    }
    Ok(())
}
