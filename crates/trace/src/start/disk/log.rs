//! Kernel events about reads and the page cache during one start.

use std::time::Duration;

use coldstart_profile::trace::FillCause;

/// A file's identity in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// `s_dev` in the kernel's numbering: `major << 20 | minor`. Of most file systems the same as `st_dev`, but not of btrfs and
    /// overlayfs. A block device's own pages belong to a file system with the major number 0.
    pub device: u64,
    /// The inode number; of a block device's own pages its number, `major << 20 | minor`.
    pub inode: u64,
}

/// Pages read from the disk by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFill {
    /// `CLOCK_MONOTONIC` when the first of them entered the page cache: right before the disk was asked.
    pub at: Duration,
    /// The thread that asked, as the initial PID namespace numbers it; 0 if it is not known.
    pub thread: u32,
    /// Which file.
    pub file: FileKey,
    /// First page.
    pub page: u64,
    /// How many, at least 1. The last may lie behind the file's end.
    pub pages: u64,
    /// Why.
    pub cause: FillCause,
}

/// Pages read by `read(2)` or a similar call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRead {
    /// `CLOCK_MONOTONIC` when they were available.
    pub at: Duration,
    /// The thread, as the initial PID namespace numbers it.
    pub thread: u32,
    /// Which file.
    pub file: FileKey,
    /// First page.
    pub page: u64,
    /// How many, at least 1. The last may lie behind the file's end.
    pub pages: u64,
}

/// The events of one start, by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskLog {
    /// Reads from the disk, by all processes.
    pub fills: Vec<DiskFill>,
    /// Reads of the program's processes. One that lies within the one before it is not told again.
    pub reads: Vec<DiskRead>,
    /// Pages newly written by the program's processes: they entered the page cache without the disk.
    pub written_pages: u64,
    /// Events that did not fit the kernel's buffers.
    pub lost: u64,
    /// What was not recorded and why, a sentence each.
    pub notes: Vec<String>,
}
