//! Work that many processes want done at the same time, and that one of them does for all.
//!
//! The turn is a lock (`flock`) on a file that all of them can read: it needs no server and no writable place, works across
//! users and containers that see the same inode, and any death frees it. While the work is under way it is exclusive, when it
//! is done it is shared, so that others can tell the two apart. How far the work is stands in a second lock, whose *length*
//! is the progress: a read lock of an open file description, which another process can look at (`F_OFD_GETLK`). So one
//! that is stopped or hangs is told from one that is slow. Network file systems that refuse the locks share nothing.

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::fs::{FlockOperation, flock};

/// What is known of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nobody does it: it is ours, until the last copy of the descriptor is closed.
    Ours,
    /// Another process is at it.
    Underway,
    /// Another process has done it, and still stands by its result.
    Done,
    /// The file cannot be locked here.
    Unknown,
}

/// Takes the turn, or says who has it.
pub fn take_turn(file: &File) -> Turn {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Turn::Ours,
        Err(rustix::io::Errno::WOULDBLOCK) => {}
        Err(_) => return Turn::Unknown,
    }
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(file, FlockOperation::Unlock);
            Turn::Done
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Turn::Underway,
        Err(_) => Turn::Unknown,
    }
}

/// Tells the others that our work is done. They know it as long as the file is open here.
pub fn tell_done(file: &File) {
    // The change is not atomic: if another took the turn in between, it is that one's.
    let _ = flock(file, FlockOperation::NonBlockingLockShared);
}

/// Tells the others how far our work is: a number that grows, at least 1.
pub fn tell_progress(file: &File, progress: u64) {
    let mut lock = whole_file(libc::F_RDLCK);
    lock.l_len = i64::try_from(progress).unwrap_or(i64::MAX);
    // SAFETY: a valid descriptor, and a filled structure that lives as long as the call.
    let _ = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
}

/// How far another process is; `None` before it has told.
pub fn progress_of_other(file: &File) -> Option<u64> {
    let mut lock = whole_file(libc::F_WRLCK);
    // SAFETY: as above; the kernel fills the structure.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    (answer == 0 && i32::from(lock.l_type) == libc::F_RDLCK).then(|| lock.l_len.unsigned_abs())
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    // SAFETY: a structure of integers, for which zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_works_and_the_others_know() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        // Separate descriptions, as in separate processes; reading suffices.
        let open = || File::open(&path).unwrap();
        let (first, second) = (open(), open());
        assert_eq!(take_turn(&first), Turn::Ours);
        assert_eq!((take_turn(&second), progress_of_other(&second)), (Turn::Underway, None));
        tell_progress(&first, 1);
        tell_progress(&first, 7);
        assert_eq!(progress_of_other(&second), Some(7));
        tell_done(&first);
        assert_eq!((take_turn(&second), take_turn(&open())), (Turn::Done, Turn::Done));
        drop(first);
        assert_eq!((take_turn(&second), progress_of_other(&second)), (Turn::Ours, None));
    }
}
