//! A connection to a child that is spawned later.
//!
//! Not obvious: the child begins with a copy of our end, as of every descriptor. While it has that copy, our end never closes for it: it
//! would wait for ever for a parent that is gone, and keep alive what it has sent to that parent.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// The child's end, to be moved into a hook that runs between fork and exec.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    socket: OwnedFd,
    /// Our end, as numbered in both processes, and which file that is.
    ours: RawFd,
    identity: (u64, u64),
}

/// Our end and the child's.
///
/// # Errors
/// When no socket pair can be created.
pub(crate) fn pair() -> io::Result<(OwnedFd, ChildEnd)> {
    let (ours, socket) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let end = ChildEnd { socket, ours: ours.as_raw_fd(), identity: identity(ours.as_fd())? };
    Ok((ours, end))
}

impl ChildEnd {
    /// The socket, after the child's copy of our end has been closed. Only for the child between fork and exec; makes only system calls.
    pub(crate) fn in_child(&self) -> &OwnedFd {
        // SAFETY: the descriptor is only looked at, and closed only if it still is the socket, which nothing in the child uses.
        let copy = unsafe { BorrowedFd::borrow_raw(self.ours) };
        if identity(copy).is_ok_and(|found| found == self.identity) {
            // SAFETY: as above.
            unsafe { libc::close(self.ours) };
        }
        &self.socket
    }
}

/// Device and inode.
fn identity(file: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let found = rustix::fs::fstat(file)?;
    Ok((found.st_dev, found.st_ino))
}
