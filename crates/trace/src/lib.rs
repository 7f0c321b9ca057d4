//! Recorders of a program's start.
//!
//! One start is observed from two sides at once. The program's own calls show the names it uses
//! ([`NameLog`]); the kernel's tracepoint shows which pages entered the page cache, and when ([`PageFillRecorder`]). The
//! tracepoint has only inode numbers, the calls have no pages. `files` joins them, [`record_working_set`] is the entry point.

mod block_device;
mod cached_reads;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod name_follower;
mod names;
mod outside_names;
mod page_fills;
mod page_uses;
mod relief;
pub mod start;
mod touched_working_set;
mod working_set;

pub use error::TraceError;
pub use name_follower::NameFollower;
pub use names::{NameLog, SeenFile, SeenName, SeenRequest};
pub use page_fills::{PageFill, PageFillRecorder};
pub use page_uses::page_uses;
pub use touched_working_set::{ExactWorkingSet, TraceAge, TracedWorkingSets, traced_working_sets, working_sets_inside};
pub use working_set::{Recording, RecordingNotes, record_working_set};
