//! What a start asked of files: names, reads, what came from the disk and why.
//!
//! As root the kernel tells it all ([`DiskRecorder`]); the names come from the program's own calls (`crate::NameLog`). Both are joined
//! afterwards by pure functions: [`disk_pieces`] makes the pieces of a trace. What a newcomer would not
//! guess: whether somebody waited for a page is not told by the page, but by what its thread did right before (`causes`).

mod causes;
mod known;
mod log;
mod pieces;
mod recorder;
mod tracepoints;

pub use known::{KnownFile, KnownFiles};
pub use log::{DiskFill, DiskLog, DiskRead, FileKey};
pub use pieces::{DiskPieces, Setting, disk_pieces};
pub use recorder::DiskRecorder;
