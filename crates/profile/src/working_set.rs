//! The working set of a start, in order of first use.
//!
//! A recorder writes it, the prefetch planner reads it. It includes names that were only looked up:
//! on a disk that seeks, finding a file costs as much as reading 1 MB of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::{FileIdentity, PageRange};

/// The startup working set of one program: what one start read before it was ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkingSet {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Files whose pages were read, in order of first use.
    pub files: Vec<FileUse>,
    /// Names looked up and directories listed, in order of first use; missing files too, because a negative look-up
    /// also reads from the disk.
    pub names: Vec<NameUse>,
    /// How the pages were determined.
    pub source: PageSource,
    /// From the launch to readiness, in the recorded start.
    pub duration: Duration,
}

impl WorkingSet {
    /// Bytes of all file pages.
    pub fn bytes(&self) -> u64 {
        self.files.iter().flat_map(|file| &file.touched).map(|touched| touched.range.length()).sum()
    }
}

/// How a recorder determined the pages of a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSource {
    /// By each page's entry into the page cache, with its time (tracepoint `filemap:mm_filemap_add_to_page_cache`).
    #[default]
    PageCacheFills,
    /// By residency at readiness, in the order of their files' first opening; offsets ascend within a file.
    Residency,
    /// By each page's first use by the program itself, by page fault or `read(2)`, with its time: without pages that the kernel
    /// read around it.
    Touched,
}

/// One file's part of a working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// Regular file, or the block device that holds the file system's own metadata.
    pub kind: FileKind,
    /// The file's identity when it was recorded.
    pub identity: FileIdentity,
    /// `st_dev` of the file system, to tell devices apart; for a block device its own number.
    pub device: u64,
    /// Pages in order of first use; no page is in two of them.
    pub touched: Vec<Touched>,
    /// The device offsets of the pages; empty where the file system does not report them (FIEMAP).
    pub extents: Vec<DiskExtent>,
}

/// Kind of a recorded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file that the start only read.
    Regular,
    /// A regular file that the start also wrote: its identity changes each time, so it is not checked.
    Rewritten,
    /// A block device read for a file system's metadata (inode tables, directory and extent blocks).
    BlockDevice,
}

/// Pages first used at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The pages.
    pub range: PageRange,
    /// First use, from the launch.
    pub at: Duration,
}

/// A contiguous run of a file on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskExtent {
    /// Offset in the file, in bytes.
    pub file_offset: u64,
    /// Offset on the device, in bytes.
    pub physical: u64,
    /// Length in bytes.
    pub length: u64,
}

/// A name that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// Absolute path as requested: symbolic links in it are part of what must be read.
    pub path: PathBuf,
    /// The kind of request.
    pub kind: NameKind,
    /// First use, from the launch.
    pub at: Duration,
}

/// The kind of request for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Looked up, and it existed.
    Found,
    /// Looked up, and it did not exist.
    Missing,
    /// A directory that was listed.
    Listed,
}
