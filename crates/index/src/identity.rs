//! The identity of a file or directory: what changes when its content or its names change.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A file or directory as it was. Modification time alone does not suffice: stores set it to 1, and tools restore it. The time of the last
/// change of the inode (`st_ctime`) cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `st_dev`; `None` on file systems without a device, such as NFS, FUSE, overlayfs and btrfs: their number (major 0) is assigned
    /// anew at each mount.
    pub device: Option<u64>,
    /// `st_ino`.
    pub inode: u64,
    /// Last modification, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of the inode, in nanoseconds since 1970.
    pub changed: i64,
}

impl Identity {
    /// The identity of what a path leads to, symbolic links followed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&std::fs::metadata(path)?))
    }

    /// The identity in an answer of `stat`.
    pub fn of_metadata(found: &std::fs::Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            device: (rustix::fs::major(found.dev()) != 0).then(|| found.dev()),
            inode: found.ino(),
            modified: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed: nanoseconds(found.ctime(), found.ctime_nsec()),
        }
    }

    /// The later of both times, in nanoseconds since 1970.
    pub fn latest(&self) -> i64 {
        self.modified.max(self.changed)
    }
}
