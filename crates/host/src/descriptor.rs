//! Paths of open files, by descriptor (`proc_pid_fd(5)`).
//!
//! Such a path refers to the open file itself, even if its name was reused or removed. It is a magic link: the kernel does not
//! resolve the text that `readlink` returns.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

/// A path that refers to an open file of this process, as long as it is open.
pub fn path(file: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// The path by which the kernel knows an open file. A removed file's path ends with ` (deleted)`; a file without a path is
/// shown as text such as `pipe:[17]`.
///
/// # Errors
/// The kernel's error; `NotFound` without `/proc`.
pub fn name(file: impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(path(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn an_open_file_is_reached_without_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap().join("a");
        std::fs::write(&at, "words").unwrap();
        let file = std::fs::File::open(&at).unwrap();
        assert_eq!(name(&file).unwrap(), at);
        std::fs::remove_file(&at).unwrap();
        let mut text = String::new();
        std::fs::File::open(path(&file)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "words");
        assert_ne!(name(&file).unwrap(), at);
    }
}
