//! Kernel records about a process tree's memory: page faults and mappings.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// One record, with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerfRecord {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub at: u64,
    /// The process (thread group), in the PID namespace of the recorder.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// What happened.
    pub what: PerfRecordKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PerfRecordKind {
    /// A page was not in the page table when it was used.
    Fault(Fault),
    /// A range of memory was mapped, or its protection changed.
    Mapped(Mapped),
    /// The thread is new.
    Began {
        /// The PID of its creator; its own PID for a new thread.
        parent: u32,
        /// The thread that created it.
        parent_thread: u32,
    },
    /// The process has executed another program.
    Executed {
        /// The thread's new name.
        name: OsString,
    },
    /// The thread has ended.
    Ended,
}

/// A page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The accessed address.
    pub address: u64,
    /// The accessing instruction; in the kernel where `by_kernel`.
    pub instruction: u64,
    /// Whether it was a write; `None` where unknown.
    pub write: Option<bool>,
    /// Whether it was an instruction fetch; `None` where unknown.
    pub fetch: Option<bool>,
    /// Whether it waited for the disk.
    pub major: bool,
    /// Whether the kernel made the access, on the program's behalf.
    pub by_kernel: bool,
}

/// A mapped range of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// First byte.
    pub address: u64,
    /// In bytes.
    pub length: u64,
    /// File offset, in bytes.
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
