//! Processes and threads of a trace.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Moment, PagesSeen, ProcessId};

/// One program image of one process: `execve` begins a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedProcess {
    /// The kernel's number for it.
    pub number: u32,
    /// Whose fork made it, or the image before this one; `None` for the first.
    pub parent: Option<ProcessId>,
    /// The program's file; of a fork, its parent's.
    pub program: PathBuf,
    /// Its arguments, where they could be read.
    pub arguments: Vec<OsString>,
    /// When it began: its fork, or the return of its `execve`.
    pub began: Moment,
    /// When it ended, or executed another program; `None` if it outlived the recording.
    pub ended: Option<Moment>,
    /// Whether it began with `execve`, not with a fork.
    pub executed: bool,
    /// How complete its page touches are.
    pub pages: PagesSeen,
    /// Limits of its record and their reasons, a clause each ("a 32-bit program: ...").
    pub notes: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedThread {
    /// The kernel's number for it.
    pub number: u32,
    /// Its process.
    pub process: ProcessId,
}
