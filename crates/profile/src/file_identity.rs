//! A file's identity, to detect changes since it was recorded.

use serde::{Deserialize, Serialize};

/// Identity of a regular file's content, cheap enough to check before each replay: one `fstat`.
///
/// Device and inode numbers are left out on purpose: a package installed on another machine has other numbers and the
/// same content, and package managers set the modification time from the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Size in bytes.
    pub size: u64,
    /// Modification time: nanoseconds since 1970-01-01 UTC; earlier times are negative.
    pub modified: i64,
}

impl FileIdentity {
    /// From the fields of `stat(2)`: `st_size`, `st_mtime`, `st_mtime_nsec`. Times that do not fit saturate.
    pub fn from_stat(size: i64, seconds: i64, nanoseconds: i64) -> Self {
        Self {
            size: u64::try_from(size).unwrap_or(0),
            modified: seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds),
        }
    }
}
