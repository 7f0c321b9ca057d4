//! The follower's notes at the program's stops. Sent from the follower's process to ours at the end.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use coldstart_profile::trace::PagesSeen;

/// A note taken at a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// `CLOCK_MONOTONIC`, in nanoseconds: when the stop was seen.
    pub at: u64,
    /// The process (thread group).
    pub process: u32,
    /// The stopped thread.
    pub thread: u32,
    /// The kind of note.
    pub what: NoteKind,
}

/// The kind of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoteKind {
    /// A new process and its parent; threads are not noted.
    Forked {
        /// Process id of the parent; 0 if unknown.
        parent: u32,
        /// Whether it shares its parent's memory (`vfork`).
        shares_memory: bool,
    },
    /// It calls `execve`, which may still fail.
    ExecCalled,
    /// It has executed a program and is at its first instruction.
    Executed(Image),
    /// The loader's list of objects is about to change, or has changed (`r_debug.r_state`).
    Loader(LoaderState),
    /// New objects in the loader's list; reported before the state at which they were seen.
    Linked(Vec<LinkedObject>),
    /// The loader makes relocated memory read-only: this object's relocations are done. Address and length in bytes.
    Protected {
        /// First byte.
        address: u64,
        /// In bytes.
        length: u64,
    },
    /// It is at the program's entry point (`AT_ENTRY`): the loader is done.
    ProgramEntry,
    /// It is at `__libc_start_main`.
    LibcStart,
    /// It is at `main`.
    Main,
    /// The times of initialiser calls, in order.
    Initialisers(Vec<InitialiserTime>),
    /// It is at a function's first instruction for the first time. The address is absolute.
    Function {
        /// The address.
        address: u64,
    },
    /// How completely the process's page touches are visible from now on; with a reason, unless they all are.
    Pages(PagesSeen, Option<String>),
    /// A limitation of the recording of this process: a clause.
    Obstacle(String),
    /// The process is about to end. The status is that of `wait(2)`.
    Ends {
        /// Wait status.
        status: i32,
    },
}

/// A program image right after `execve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `/proc/PID/exe`. Not a `PathBuf`, which serde refuses to send where a name is not UTF-8.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// `AT_ENTRY`.
    pub entry: u64,
    /// `AT_BASE`: the loader's load bias; 0 without one.
    pub loader_base: u64,
    /// Whether it is a 32-bit program.
    pub is_32_bit: bool,
}

/// `r_debug.r_state` (`link.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoaderState {
    /// `RT_CONSISTENT`. At the start: all is mapped and relocated. In `dlopen`: all is mapped, nothing of it
    /// relocated yet (glibc 2.36).
    Consistent,
    /// `RT_ADD`: objects are about to be mapped.
    Adding,
    /// `RT_DELETE`: objects are about to be unmapped.
    Deleting,
}

/// An entry of the loader's list (`struct link_map`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedObject {
    /// `l_addr`: the load bias.
    pub bias: u64,
    /// `l_name`: empty for the program itself.
    pub name: OsString,
    /// `l_ld`: absolute address of its dynamic table.
    pub dynamic: u64,
}

/// When an initialiser was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialiserTime {
    /// Its first instruction, absolute.
    pub address: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub at: u64,
    /// Load bias of the object whose initialiser it is.
    pub bias: u64,
}
