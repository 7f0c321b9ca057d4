//! The dots of a map: the events of the object's pages.

use coldstart_profile::trace::{EventKind, FileId, Touch, Trace, TracedObject};

use super::places::{Place, Places, of_event};

/// The meaning of a dot. In drawing order: disk reads are below everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DotKind {
    /// Pages came from the disk.
    Fill,
    /// Pages were read through `read(2)` or one of its kin.
    Call,
    /// A first touch; whether it read or wrote is not known.
    Other,
    /// A first touch that read, from memory.
    Read,
    /// A first touch that fetched an instruction, from memory.
    Execute,
    /// A first touch that wrote, in memory.
    Write,
    /// A function's first call.
    Function,
    /// A first touch that waited for the disk, whatever it did.
    Major,
}

impl DotKind {
    /// All, in order.
    pub const ALL: [Self; 8] =
        [Self::Fill, Self::Call, Self::Other, Self::Read, Self::Execute, Self::Write, Self::Function, Self::Major];

    /// Its id in the palette.
    pub fn id(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Call => "call",
            Self::Other => "other",
            Self::Read => "read",
            Self::Execute => "execute",
            Self::Write => "write",
            Self::Function => "function",
            Self::Major => "major",
        }
    }

    /// Of an event.
    pub fn of(kind: EventKind) -> Self {
        match kind {
            EventKind::Touch(Touch { major: true, .. }) => Self::Major,
            EventKind::Touch(Touch { execute: true, .. }) => Self::Execute,
            EventKind::Touch(Touch { write: Some(true), .. }) => Self::Write,
            EventKind::Touch(Touch { write: Some(false), .. }) => Self::Read,
            EventKind::Touch(_) => Self::Other,
            EventKind::Function => Self::Function,
            EventKind::Read => Self::Call,
            EventKind::Fill(_) => Self::Fill,
        }
    }

    /// Whether it is a first touch.
    pub fn is_touch(self) -> bool {
        matches!(self, Self::Other | Self::Read | Self::Execute | Self::Write | Self::Major)
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot {
    /// Nanoseconds since the launch.
    pub at: u64,
    /// Where its first page begins; of a function its first instruction.
    pub place: Place,
    /// Bytes from there; of a function 0.
    pub length: u64,
    /// Its meaning.
    pub kind: DotKind,
}

/// The dots of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotLayer {
    /// What to call the trace; `None` where there is only one.
    pub label: Option<String>,
    /// In order of time.
    pub dots: Vec<Dot>,
    /// Events in the shown time that have no place on the axis: after the end of the file, say.
    pub outside: u64,
}

impl DotLayer {
    /// What happened to a file from one moment (nanoseconds) to another, both included.
    pub(super) fn of(
        trace: &Trace,
        id: FileId,
        object: Option<&TracedObject>,
        places: &Places,
        (from, to): (u64, u64),
    ) -> Self {
        let mut layer = Self::default();
        let events = trace.events.iter().filter(|event| event.file == Some(id));
        for event in events.filter(|event| (from..=to).contains(&event.at.0)) {
            let (place, length) = of_event(event, id, object);
            if places.holds(place) {
                layer.dots.push(Dot { at: event.at.0, place, length, kind: DotKind::of(event.kind) });
            } else {
                layer.outside += 1;
            }
        }
        layer
    }

    /// How many events of a kind.
    pub fn count(&self, kind: DotKind) -> u64 {
        self.dots.iter().filter(|dot| dot.kind == kind).count() as u64
    }

    /// How many first touches.
    pub fn touches(&self) -> u64 {
        self.dots.iter().filter(|dot| dot.kind.is_touch()).count() as u64
    }
}
