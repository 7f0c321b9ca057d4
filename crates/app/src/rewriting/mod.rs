//! Shared by the verbs that rewrite files: finding files, output paths, writing and proving results, and the result of each
//! file.

mod destination;
mod gather;
mod over_tasks;
mod refused;
mod worked;
mod writing;

pub use destination::{Destination, PlaceOptions, Rule};
pub use gather::{Gathered, Task, gather};
pub use over_tasks::{Passage, over_tasks};
pub use refused::Refused;
pub use worked::{Outcome, Planning, Worked};
pub use writing::{
    NotWritten, StepSeconds, Unproven, Writing, link_warnings, taken_back, truncated_error, write, write_restored,
};
