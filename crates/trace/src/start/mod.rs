//! One traced start: its phases, page touches and first calls of functions.
//!
//! The kernel records page faults while the program runs, and a separate process traces it with few stops: at
//! mappings of files, at the loader's debugger hook, at the program's entry. Neither changes a byte of the program.
//! Afterwards both records are joined.

mod assemble;
pub(crate) mod disk;
mod follow;
mod function_layer;
mod record;
mod session;

pub use disk::{
    DiskFill, DiskLog, DiskPieces, DiskRead, DiskRecorder, FileKey, KnownFile, KnownFiles, Setting, disk_pieces,
};
pub use record::{IsWanted, PreparedTrace, TraceOptions, TracedStart};
