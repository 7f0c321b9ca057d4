//! From recorded data to a trace: pages to files and sections, stops and touches to phases.
//!
//! In two steps, between which the files are opened ([`OpenedObjects`]). [`join()`] follows every process's memory
//! through mappings, forks and `execve`, so that each fault becomes a touch of a file page; [`Joined::uses`] lists
//! the files and their used parts. [`finish`] takes descriptions of the ELF objects among them and derives what needs
//! their headers: load biases, zero-filled memory, instruction addresses, and the phases.
//!
//! What a newcomer would not guess: each observer is optional. Without the kernel's records there are no touches, but
//! phases from the stops; without the follower's notes there are touches, but no phases.

mod category;
mod events;
mod files;
mod join;
mod joined;
mod loads;
mod mappings;
mod note;
mod opened;
mod phases;
mod placement;
mod processes;
mod seen;
mod space;

use coldstart_profile::trace::{Event, Load, Phase, TracedFile, TracedObject, TracedProcess, TracedThread};

pub use category::Places;
pub use events::Decode;
pub use files::{FileSeen, identify, kernel_number};
pub use join::{Recorded, join};
pub use joined::{FileUse, Joined};
pub use note::{Image, InitialiserTime, LinkedObject, LoaderState, Note, NoteKind};
pub use opened::{OpenedObjects, file_seen, is_still_there};
pub use placement::{Lowest, Placement, PlacementId};
pub use seen::{CodePlace, Seen};

/// The parts of a trace that come from records and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysed {
    /// In the order in which they began.
    pub processes: Vec<TracedProcess>,
    /// In the order in which they began, or were first heard of.
    pub threads: Vec<TracedThread>,
    /// In the order in which they were first mapped.
    pub files: Vec<TracedFile>,
    /// Which object was mapped where. Mappings inherited by fork are not repeated.
    pub loads: Vec<Load>,
    /// In order of start; a phase comes after its parent.
    pub phases: Vec<Phase>,
    /// Touches and functions' first calls, in order of time.
    pub events: Vec<Event>,
}

/// Finishes a join with descriptions of the objects. A file without one is not an object: its pages stay, as those of
/// any file.
///
/// `decode` is called for touches if the kernel did not record whether they were writes.
pub fn finish(joined: Joined, objects: &[TracedObject], decode: &Decode<'_>) -> Analysed {
    let objects = loads::Objects::new(objects);
    let places = loads::LoadedObjects::new(&joined, &objects);
    let events = events::events(&joined, &objects, &places, decode);
    let phases = phases::phases(&joined, &objects, &places, &events);
    let loads = places.loads();
    let Joined { processes, threads, files, .. } = joined;
    Analysed { processes, threads, files, loads, phases, events }
}
