//! File accesses of a start: names, reads, disk I/O and its causes.
//!
//! As root the kernel reports all of it ([`DiskRecorder`]); the names come from the program's own calls (`crate::NameLog`). Both are joined
//! afterwards by pure functions: [`disk_pieces`] makes the pieces of a trace. Not
//! obvious: whether a thread waited for a page follows from its previous events, not from the page (`causes`).

mod causes;
mod known;
mod log;
mod pieces;
mod recorder;
pub(crate) mod tracepoints;

pub use known::{KnownFile, KnownFiles};
pub use log::{DiskFill, DiskLog, DiskRead, FileKey};
pub use pieces::{DiskPieces, Setting, disk_pieces};
pub use recorder::DiskRecorder;
