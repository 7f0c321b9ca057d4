//! A trace: the events of one start of a program, in order.
//!
//! Recorders fill it, the trace file stores it, figures and viewers read it. Files, processes and threads are referred to by their index
//! in the lists here, so that an event takes few bytes. Not obvious: a page of an ELF object is identified by
//! its file offset, except in zero-filled memory (`.bss`), which has none: there it is identified by address.

mod event;
pub mod figures;
mod file;
mod kind_number;
mod lookup;
mod object;
mod phase;
mod process;
mod run;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use event::{CodeAddress, Event, EventKind, FillCause, Touch};
pub use file::{FileCategory, TracedFile};
pub use lookup::{Lookup, LookupKind};
pub use object::{Load, ObjectSection, ObjectSegment, ObjectSymbol, RelocationRun, TracedObject};
pub use phase::{Known, Phase, PhaseKind};
pub use process::{TracedProcess, TracedThread};
pub use run::{Layer, PagesSeen, Run, RunEnd, StartState};

/// Nanoseconds since the launch: the time right before the program's process was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// The time since the launch.
    pub fn since_launch(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// From an earlier moment to this one; zero if it was not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// In milliseconds, as in `12.345 ms`.
impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:03} ms", self.0 / 1_000_000, self.0 / 1000 % 1000)
    }
}

/// Index in [`Trace::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(pub u32);

/// Index in [`Trace::processes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub u32);

/// Index in [`Trace::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(pub u32);

/// Index in [`Trace::phases`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseId(pub u32);

/// One start, recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The command, the options, and limits of the trace.
    pub run: Run,
    /// In the order in which they began. A process that executes another program is a new entry, with the same number.
    pub processes: Vec<TracedProcess>,
    /// In the order in which they began.
    pub threads: Vec<TracedThread>,
    /// In the order of first use.
    pub files: Vec<TracedFile>,
    /// What is known of those files that are ELF objects.
    pub objects: Vec<TracedObject>,
    /// Which object was mapped where, in order.
    pub loads: Vec<Load>,
    /// In the order in which they began; a phase comes after its parent.
    pub phases: Vec<Phase>,
    /// In order of time.
    pub events: Vec<Event>,
    /// In order of time.
    pub lookups: Vec<Lookup>,
}

impl Trace {
    /// A file by its number.
    pub fn file(&self, id: FileId) -> Option<&TracedFile> {
        self.files.get(usize::try_from(id.0).ok()?)
    }

    /// What is known of a file as an ELF object.
    pub fn object(&self, id: FileId) -> Option<&TracedObject> {
        self.objects.iter().find(|object| object.file == id)
    }

    /// A thread by its number.
    pub fn thread(&self, id: ThreadId) -> Option<&TracedThread> {
        self.threads.get(usize::try_from(id.0).ok()?)
    }

    /// A process by its number.
    pub fn process(&self, id: ProcessId) -> Option<&TracedProcess> {
        self.processes.get(usize::try_from(id.0).ok()?)
    }

    /// Limits of processes' records, each note once, in order, with the number of its processes.
    pub fn process_notes(&self) -> Vec<(&str, u64)> {
        let mut notes: Vec<(&str, u64)> = Vec::new();
        for note in self.processes.iter().flat_map(|process| &process.notes) {
            match notes.iter_mut().find(|(known, _)| known == note) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => notes.push((note, 1)),
            }
        }
        notes
    }

    /// The process that did an event.
    pub fn process_of(&self, event: &Event) -> Option<ProcessId> {
        self.thread(event.thread).map(|thread| thread.process)
    }
}
