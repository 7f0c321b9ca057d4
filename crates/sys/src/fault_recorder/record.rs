//! What the kernel tells of a process tree's memory: page faults, and what is mapped where.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// One record, with its moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub at: u64,
    /// The process (thread group), as its own creator's PID namespace numbers it.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// What happened.
    pub what: RecordKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordKind {
    /// A page was not in the page table when it was used.
    Fault(Fault),
    /// A range of memory was mapped, or its protection changed.
    Mapped(Mapped),
    /// The thread is new.
    Began {
        /// Process that made it; the same as its own for a new thread.
        parent: u32,
        /// Thread that made it.
        parent_thread: u32,
    },
    /// The process has executed another program.
    Executed {
        /// The thread's name since.
        name: OsString,
    },
    /// The thread is gone.
    Ended,
}

/// A page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What was used.
    pub address: u64,
    /// The instruction that used it; of the kernel where `by_kernel`.
    pub instruction: u64,
    /// Whether it was a write; `None` where the kernel does not tell.
    pub write: Option<bool>,
    /// Whether it was an instruction fetch; `None` where the kernel does not tell.
    pub fetch: Option<bool>,
    /// Whether it waited for the disk.
    pub major: bool,
    /// Whether the kernel used it, on the program's behalf.
    pub by_kernel: bool,
}

/// A mapped range of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// First byte.
    pub address: u64,
    /// In bytes.
    pub length: u64,
    /// Place in the file, in bytes.
    pub offset: u64,
    /// Device of the file, `major << 20 | minor`; 0 for memory without a file.
    pub device: u64,
    /// Inode number; 0 for memory without a file.
    pub inode: u64,
    /// `PROT_*` of `mmap(2)`.
    pub protection: u32,
    /// `MAP_*` of `mmap(2)`.
    pub flags: u32,
    /// The file's path as the kernel knows it; `//anon`, `[heap]`, `[vdso]` and the like for memory without a file.
    pub path: OsString,
}
