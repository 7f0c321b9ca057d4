//! One start, followed: its phases, page touches and functions' first calls.
//!
//! The kernel records page faults while the program runs, and a process of our own follows it from stop to stop, with few stops: at
//! mappings of files, at the loader's own sign for debuggers, at the program's entry. Neither changes a byte of the program.
//! Afterwards both records are joined.

pub mod analyse;
mod assemble;
mod disk;
mod follow;
mod function_layer;
mod note;
mod opened;
mod record;
mod session;

pub use disk::{
    DiskFill, DiskLog, DiskPieces, DiskRead, DiskRecorder, FileKey, KnownFile, KnownFiles, Places, Setting, disk_pieces,
};
pub use note::{Image, InitialiserTime, LinkedObject, LoaderState, Note, NoteKind};
pub(crate) use opened::{OpenedObjects, file_seen, is_still_there};
pub use record::{IsWanted, PreparedTrace, TraceOptions, TracedStart};
