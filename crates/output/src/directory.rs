//! Flushing directory entries to disk.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fsync, open, syncfs};
use rustix::io::Errno;

/// Flushes the entries of `directory` to disk. `within` is any open file of the same file system: a directory with write but
/// without read permission cannot be opened, and then the whole file system is flushed.
///
/// # Errors
/// The I/O error.
pub fn flush_directory(directory: &Path, within: &File) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let flushed = match open(directory, flags, Mode::empty()) {
        Ok(directory) => fsync(directory),
        Err(_) => syncfs(within),
    };
    match flushed {
        // File systems that need no flush return an error.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
