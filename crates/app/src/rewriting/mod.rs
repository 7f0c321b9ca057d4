//! What the verbs that rewrite files share: which files are meant, where each result goes, how it is written and proven, and
//! what became of each file.

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
    NotWritten, StepSeconds, Unproven, Writing, link_warnings, shrank, taken_back, write, write_restored,
};
