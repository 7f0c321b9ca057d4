//! From touches of a file's bytes to trace events: the part that needs the object's headers.

use std::collections::HashSet;

use coldstart_profile::trace::{CodeAddress, Event, EventKind, FileId, ProcessId, TracedObject};

use super::joined::{Joined, StopKind};
use super::loads::{LoadedObjects, Objects, code_address, offset_of};
use super::seen::Seen;

/// Decides from an instruction, by its file and its address without load bias, whether it writes to memory; `None` if
/// it cannot.
pub type Decode<'all> = dyn Fn(FileId, u64) -> Option<bool> + 'all;

/// All touches and first calls, in order of time.
pub(super) fn events(
    joined: &Joined,
    objects: &Objects<'_>,
    places: &LoadedObjects,
    decode: &Decode<'_>,
) -> Vec<Event> {
    let mut events = Vec::with_capacity(joined.seen.len());
    let mut unknown = UnknownKinds::new(joined);
    for seen in &joined.seen {
        if let Some(event) = touched(seen, objects, decode)
            && unknown.admits(joined, seen, &event)
        {
            events.push(event);
        }
    }
    events.extend(functions(joined, objects, places));
    // Both halves are in order, so this is one merge; of what happened at once, the touch comes first.
    events.sort_by_key(|event| event.at);
    events
}

fn touched(seen: &Seen, objects: &Objects<'_>, decode: &Decode<'_>) -> Option<Event> {
    let code = seen.code.and_then(|code| {
        let address = code_address(objects.get(code.file)?, code.offset)?;
        Some(CodeAddress { file: code.file, address })
    });
    let mut touch = seen.touch;
    if touch.write.is_none() && !touch.execute {
        touch.write = code.and_then(|code| decode(code.file, code.address));
    }
    let page = if touch.zero_filled { zero_filled_page(objects.get(seen.file)?, seen.page)? } else { seen.page };
    let kind = EventKind::Touch(touch);
    Some(Event { at: seen.at, thread: seen.thread, kind, file: Some(seen.file), page, pages: 1, code })
}

/// The page, by address, at an index after an object's first one; `None` if it is not its zero-filled memory.
/// memory of it.
fn zero_filled_page(object: &TracedObject, pages: u64) -> Option<u64> {
    let lowest = object.segments.iter().map(|segment| segment.address).min()?;
    let page = (lowest >> 12).checked_add(pages)?;
    let address = page.checked_mul(4096)?;
    let zero_filled = object.segments.iter().any(|segment| {
        let file_end = segment.address.saturating_add(segment.file_size);
        let end = segment.address.saturating_add(segment.memory_size);
        // The page in which the file's bytes end is the file's.
        let begins_in = segment.file_size == 0 && address == segment.address & !0xfff;
        (begins_in || address >= file_end) && address < end
    });
    zero_filled.then_some(page)
}

/// Keeps one touch per page whose kind stays unknown, and drops those whose kind turns out to be recorded already.
struct UnknownKinds {
    /// Pages with touches of unknown kind.
    pages: HashSet<(ProcessId, FileId, u64, bool)>,
    /// The kinds that were let through of those.
    seen: HashSet<(ProcessId, FileId, u64, bool, bool, Option<bool>)>,
    /// Those of which anything was let through.
    any: HashSet<(ProcessId, FileId, u64, bool)>,
}

impl UnknownKinds {
    fn new(joined: &Joined) -> Self {
        let unknown = joined.seen.iter().filter(|seen| seen.touch.write.is_none() && !seen.touch.execute);
        let pages = unknown.filter_map(|seen| page_of(joined, seen)).collect();
        Self { pages, seen: HashSet::new(), any: HashSet::new() }
    }

    fn admits(&mut self, joined: &Joined, seen: &Seen, event: &Event) -> bool {
        if self.pages.is_empty() {
            return true;
        }
        let EventKind::Touch(touch) = event.kind else { return true };
        let Some(page) = page_of(joined, seen).filter(|page| self.pages.contains(page)) else { return true };
        let first = self.any.insert(page);
        let unknown = touch.write.is_none() && !touch.execute;
        let (process, file, number, zero_filled) = page;
        self.seen.insert((process, file, number, zero_filled, touch.execute, touch.write)) && (first || !unknown)
    }
}

fn page_of(joined: &Joined, seen: &Seen) -> Option<(ProcessId, FileId, u64, bool)> {
    let thread = joined.threads.get(usize::try_from(seen.thread.0).ok()?)?;
    Some((thread.process, seen.file, seen.page, seen.touch.zero_filled))
}

fn functions(joined: &Joined, objects: &Objects<'_>, places: &LoadedObjects) -> impl Iterator<Item = Event> {
    joined.stops.iter().filter_map(move |stop| {
        let StopKind::Function { address, place } = stop.what else { return None };
        let (code, offset) = match place {
            Some(place) => {
                let address = code_address(objects.get(place.file)?, place.offset)?;
                (CodeAddress { file: place.file, address }, place.offset)
            }
            None => {
                let place = places.holding(stop.process, address, stop.at)?;
                let address = address.wrapping_sub(place.bias);
                (CodeAddress { file: place.file, address }, offset_of(objects.get(place.file)?, address)?)
            }
        };
        let (file, page) = (Some(code.file), offset >> 12);
        let (at, thread) = (stop.at, stop.thread);
        Some(Event { at, thread, kind: EventKind::Function, file, page, pages: 1, code: Some(code) })
    })
}
