//! One start, followed: its phases, page touches and functions' first calls.
//!
//! The kernel records page faults while the program runs, and a process of our own follows it from stop to stop, with few stops: at
//! mappings of files, at the loader's own sign for debuggers, at the program's entry. Neither changes a byte of the program.
//! Afterwards both records are joined.

mod assemble;
mod disk;
mod follow;
mod function_layer;
mod record;
mod session;

pub use disk::{
    DiskFill, DiskLog, DiskPieces, DiskRead, DiskRecorder, FileKey, KnownFile, KnownFiles, Setting, disk_pieces,
};
pub use record::{IsWanted, PreparedTrace, TraceOptions, TracedStart};
