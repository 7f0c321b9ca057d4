//! Reading the kernel's files, below a root that may be a fake machine.
//!
//! Every result is either the text or the reason why there is none. Files of the kernel have no size, and a fake tree
//! may contain anything, so at most 1 MiB is read, and only of regular files: opening a pipe would block for ever.

use std::io::Read;
use std::path::{Path, PathBuf};

use coldstart_sys::named_file::open_regular;

/// The limit for a file, in bytes. The mount table of a machine with a thousand mounts has 150 KiB.
pub(crate) const MOST: u64 = 1 << 20;

/// The root of `/proc`, `/sys` and the rest.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    directory: PathBuf,
}

impl Root {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The path below the root.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        // Not `exists`, which follows a link out of the fake machine.
        self.at(path).symlink_metadata().is_ok()
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>, String> {
        let path = path.as_ref();
        let reason = |error: std::io::Error| format!("{}: {}", path.display(), plain(&error));
        let mut bytes = Vec::new();
        open_regular(&self.at(path)).map_err(reason)?.take(most).read_to_end(&mut bytes).map_err(reason)?;
        Ok(bytes)
    }

    /// The text of a file, without blanks around it.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Result<String, String> {
        let bytes = self.bytes(path, MOST)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number in a file that contains nothing else.
    pub(crate) fn number(&self, path: impl AsRef<Path>) -> Result<i64, String> {
        let path = path.as_ref();
        let text = self.text(path)?;
        text.parse().map_err(|_| format!("{} does not contain a number", path.display()))
    }

    /// The sorted names in a directory; none where it cannot be read.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = std::fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The kernel's error message, without Rust's "(os error 13)".
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        std::fs::write(root.at("/number"), " 42\n").unwrap();
        assert_eq!(root.number("/number"), Ok(42));
        assert_eq!(root.number("/none"), Err("/none: No such file or directory".to_owned()));
        assert_eq!(root.text("/"), Err("/: it is a directory, not a regular file".to_owned()));
        let pipe = root.at("/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(root.text("/pipe"), Err("/pipe: it is a FIFO, not a regular file".to_owned()));
    }
}
