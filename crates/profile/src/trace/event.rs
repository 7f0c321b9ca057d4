//! Events of a trace.

use super::{FileId, Moment, ThreadId};

/// An event on pages of a file, or a function's first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time.
    pub at: Moment,
    /// The thread.
    pub thread: ThreadId,
    /// The kind.
    pub kind: EventKind,
    /// The file; `None` for a fill whose file's name is not known.
    pub file: Option<FileId>,
    /// First page: file offset / 4096. Of zero-filled memory: address without load bias / 4096. Of a function: its
    /// page.
    pub page: u64,
    /// How many pages, at least 1.
    pub pages: u32,
    /// The instruction: of a touch the one that did it, of a function its first.
    pub code: Option<CodeAddress>,
}

/// An instruction in a file's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress {
    /// The file.
    pub file: FileId,
    /// Address without load bias.
    pub address: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A page was used for the first time by its process.
    Touch(Touch),
    /// A function was called for the first time.
    Function,
    /// Pages were read through `read(2)` or a similar call.
    Read,
    /// Pages came from the disk into the page cache.
    Fill(FillCause),
}

/// How a page was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Whether it was written to; `None` if unknown.
    pub write: Option<bool>,
    /// Whether it was an instruction fetch.
    pub execute: bool,
    /// Whether it waited for the disk.
    pub major: bool,
    /// Whether the kernel did it on the program's behalf (for example a `read` into it).
    pub by_kernel: bool,
    /// Zero-filled memory of the object (`.bss`): the page is named by address.
    pub zero_filled: bool,
    /// Whether the whole run, not only this process, had not touched it before.
    pub first_of_run: bool,
}

/// Why pages were read from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FillCause {
    /// The page that a thread waited for, and pages read with it at once.
    Demand,
    /// Read ahead of a sequential reader.
    Readahead,
    /// By a process outside the program.
    Other,
    /// Unknown.
    Unknown,
}

impl FillCause {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Demand => "demand",
            Self::Readahead => "readahead",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}
