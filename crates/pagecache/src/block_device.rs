//! Opening block devices under file systems.
//!
//! A kernel may forbid opening a device that is mounted, even for reading and even to root.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::cache_file::CacheFile;

/// Opens a block device for reading and for residency queries.
///
/// # Errors
/// The kernel's error; `ENOTBLK` for anything else.
pub(crate) fn open(path: &Path) -> io::Result<CacheFile> {
    // The type is checked first: opening a character device may have effects.
    let stat = rustix::fs::lstat(path)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return Err(Errno::NOTBLK.into());
    }
    // Opened here, too, for the kernel's own error: EPERM and EACCES mean different things.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())?;
    CacheFile::open(path, false).map_err(io::Error::other)
}
