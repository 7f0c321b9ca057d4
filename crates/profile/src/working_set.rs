//! The working set of a start: the pages read, in order of first use.
//!
//! A recorder writes it, the prefetch planner reads it. Names that were only looked up belong to it as much as pages:
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
    /// Names looked up and directories listed, in order of first use; missing files too, because the answer "it is not
    /// there" is read from the disk as well.
    pub names: Vec<NameUse>,
    /// How the pages were learned.
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

/// How a recorder learned which pages a start read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSource {
    /// Each page's entry into the page cache, with its moment (tracepoint `filemap:mm_filemap_add_to_page_cache`).
    #[default]
    PageCacheFills,
    /// The pages resident at readiness, in order of their files' first opening; offsets ascend within a file.
    Residency,
    /// Each page's first use by the program itself, by page fault or `read(2)`, with its moment: without what the
    /// kernel read around it.
    Touched,
}

/// One file's part of a working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// Regular file, or the block device that holds the file system's own metadata.
    pub kind: FileKind,
    /// What the file was when it was recorded.
    pub identity: FileIdentity,
    /// `st_dev` of the file system, to tell devices apart; for a block device its own number.
    pub device: u64,
    /// Pages in order of first use; no page is in two of them.
    pub touched: Vec<Touched>,
    /// Where the pages are on the device; empty where the file system does not tell (FIEMAP).
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
    /// Absolute path as asked for: symbolic links in it are part of what must be read.
    pub path: PathBuf,
    /// What is done with the name.
    pub kind: NameKind,
    /// First use, from the launch.
    pub at: Duration,
}

/// What a start did with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Looked up, and it was there.
    Found,
    /// Looked up, and it was not there.
    Missing,
    /// A directory that was listed.
    Listed,
}
