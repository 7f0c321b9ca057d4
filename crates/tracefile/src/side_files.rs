//! The files that SQLite keeps beside a database that is being changed.

use std::path::{Path, PathBuf};

/// What their names end with.
pub(crate) const SUFFIXES: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The path of such a file.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
