//! A file mapped into memory as one unit, which becomes a [`Load`](coldstart_profile::trace::Load) if it is an ELF
//! object.

use coldstart_profile::trace::{FileId, Moment, ProcessId, ThreadId};

/// Place in [`Joined::placements`](super::Joined::placements).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementId(pub u32);

/// A file in a process's memory, with all its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The process. Its later children by fork have it, too.
    pub process: ProcessId,
    /// The thread that mapped it.
    pub thread: ThreadId,
    /// The file.
    pub file: FileId,
    /// When its first part was mapped; when it was first heard of, if mappings were not recorded.
    pub at: Moment,
    /// The lowest address, and the place in the file that is there; `None` if mappings were not recorded.
    pub lowest: Option<Lowest>,
    /// The load bias reported by the loader (`l_addr`), if any.
    pub told_bias: Option<u64>,
    /// Of the program: the absolute address of its entry (`AT_ENTRY`).
    pub entry: Option<u64>,
    /// Whether a part of it is executable, or it is in the loader's list: a mapping as data only is not a load.
    pub as_object: bool,
}

/// The lowest part of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowest {
    /// First byte in memory.
    pub address: u64,
    /// Its place in the file, in bytes.
    pub offset: u64,
}
