//! Positions on the map's vertical axis.

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{CodeAddress, Event, EventKind, FileId, Trace, TracedFile, TracedObject};

/// A place of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Bytes from the file's beginning.
    File(u64),
    /// Zero-filled memory: an address without load bias.
    Zeros(u64),
}

/// What the upright axis holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Where the shown part of the file ends, in bytes, at least 1: after the last byte that is loaded; of what is no
    /// object, after the last byte.
    pub file_end: u64,
    /// How many bytes the file goes on without being loaded: debug information, say.
    pub not_loaded: u64,
    /// Zero-filled memory: its first page's address, and the address after it. `None` if there is no whole page of it.
    pub zeros: Option<(u64, u64)>,
}

impl Places {
    /// Of a file of a trace.
    pub(super) fn of(trace: &Trace, id: FileId, file: &TracedFile, object: Option<&TracedObject>) -> Self {
        let size = file.identity.map(|identity| identity.size).filter(|size| *size > 0);
        let loaded = object.and_then(|object| {
            object.segments.iter().map(|segment| segment.offset.saturating_add(segment.file_size)).max()
        });
        let file_end = match (loaded, size) {
            // A damaged segment may end anywhere.
            (Some(loaded), size) => loaded.min(size.unwrap_or(u64::MAX)),
            (None, Some(size)) => size,
            (None, None) => last_touched(trace, id),
        };
        let file_end = file_end.max(1);
        Self { file_end, not_loaded: size.unwrap_or(0).saturating_sub(file_end), zeros: object.and_then(zeros) }
    }

    /// Whether a place is on the axis. A file's last page may reach beyond its end.
    pub fn holds(&self, place: Place) -> bool {
        match place {
            Place::File(offset) => offset < self.file_end.checked_next_multiple_of(PAGE_SIZE).unwrap_or(u64::MAX),
            Place::Zeros(address) => self.zeros.is_some_and(|(from, to)| (from..to).contains(&address)),
        }
    }
}

/// Where an event is, and over how many bytes it goes; of a function, its exact place and none.
pub(super) fn of_event(event: &Event, id: FileId, object: Option<&TracedObject>) -> (Place, u64) {
    let page = event.page.saturating_mul(PAGE_SIZE);
    let length = u64::from(event.pages.max(1)).saturating_mul(PAGE_SIZE);
    match (event.kind, event.code) {
        (EventKind::Touch(touch), _) if touch.zero_filled => (Place::Zeros(page), length),
        (EventKind::Function, Some(CodeAddress { file, address })) if file == id => {
            (Place::File(object.and_then(|object| offset_of(object, address)).unwrap_or(page)), 0)
        }
        (EventKind::Function, _) => (Place::File(page), 0),
        _ => (Place::File(page), length),
    }
}

fn offset_of(object: &TracedObject, address: u64) -> Option<u64> {
    object.segments.iter().find_map(|segment| {
        let inside = address.checked_sub(segment.address)?;
        (inside < segment.file_size).then(|| segment.offset.checked_add(inside))?
    })
}

/// From the first whole page of zero-filled memory to its end; the page before it is the last of the file's data.
fn zeros(object: &TracedObject) -> Option<(u64, u64)> {
    let ranges = object.segments.iter().filter_map(|segment| {
        let from = segment.address.checked_add(segment.file_size)?.checked_next_multiple_of(PAGE_SIZE)?;
        let to = segment.address.saturating_add(segment.memory_size);
        (from < to).then_some((from, to))
    });
    ranges.reduce(|(from, to), (other_from, other_to)| (from.min(other_from), to.max(other_to)))
}

fn last_touched(trace: &Trace, id: FileId) -> u64 {
    let events = trace.events.iter().filter(|event| event.file == Some(id));
    let ends = events.filter_map(|event| match of_event(event, id, None) {
        (Place::File(offset), length) => Some(offset.saturating_add(length)),
        (Place::Zeros(_), _) => None,
    });
    ends.max().unwrap_or(1)
}
