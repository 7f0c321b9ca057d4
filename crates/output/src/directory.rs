//! Names made safe on disk.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fsync, open, syncfs};
use rustix::io::Errno;

/// Waits until the names in `directory` are on disk. `within` is any open file of the same file system: a directory that
/// may be written to but not read cannot be opened, and then all of the file system is flushed.
///
/// # Errors
/// The disk's answer.
pub fn flush_directory(directory: &Path, within: &File) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let flushed = match open(directory, flags, Mode::empty()) {
        Ok(directory) => fsync(directory),
        Err(_) => syncfs(within),
    };
    match flushed {
        // File systems where names need no flushing say that they cannot.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
