//! Recorders: what one start of a program really did.
//!
//! One start is watched from two sides at once. The program's own calls say which names it asks for
//! ([`NameLog`]); the kernel's tracepoint says which pages entered the page cache, and when ([`PageFillRecorder`]). Neither side
//! knows the other's half: the tracepoint has only inode numbers, the calls have no pages. `files` joins them, [`record_working_set`] leads.

mod block_device;
mod cached_reads;
mod error;
mod files;
mod names;
mod page_fills;
pub mod start;
mod touched_working_set;
mod working_set;

pub use error::TraceError;
pub use names::{NameLog, SeenFile, SeenName, SeenRequest};
pub use page_fills::{PageFill, PageFillRecorder};
pub use touched_working_set::{ExactWorkingSet, TraceAge, TracedWorkingSets, traced_working_sets};
pub use working_set::{Recording, RecordingNotes, record_working_set};
