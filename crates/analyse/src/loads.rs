//! The objects in memory: load biases, and from an address to its object.

use std::collections::HashMap;

use coldstart_profile::trace::{FileId, Load, Moment, ObjectSegment, ProcessId, ThreadId, TracedObject};

use super::joined::Joined;
use super::placement::{Placement, PlacementId};

/// The objects by file. Of two with the same file the first counts.
pub(super) struct Objects<'all> {
    by_file: HashMap<FileId, &'all TracedObject>,
}

impl<'all> Objects<'all> {
    pub(super) fn new(objects: &'all [TracedObject]) -> Self {
        let mut by_file = HashMap::new();
        for object in objects {
            by_file.entry(object.file).or_insert(object);
        }
        Self { by_file }
    }

    pub(super) fn get(&self, file: FileId) -> Option<&'all TracedObject> {
        self.by_file.get(&file).copied()
    }
}

/// An object in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadedObject {
    pub(super) id: PlacementId,
    pub(super) file: FileId,
    pub(super) process: ProcessId,
    /// Who mapped it, and when.
    pub(super) thread: ThreadId,
    pub(super) at: Moment,
    pub(super) bias: u64,
    /// Whether its mapping was recorded; if not, `at` is when it was first heard of.
    pub(super) was_mapped: bool,
    /// First byte of its first segment, and first byte after its last; absolute.
    low: u64,
    high: u64,
}

/// All loaded objects.
pub(super) struct LoadedObjects {
    by_process: HashMap<ProcessId, Vec<LoadedObject>>,
    by_id: HashMap<PlacementId, LoadedObject>,
    /// Whose fork made a process: it has the memory of its parent.
    forked_by: HashMap<ProcessId, ProcessId>,
}

impl LoadedObjects {
    pub(super) fn new(joined: &Joined, objects: &Objects<'_>) -> Self {
        let mut by_process: HashMap<ProcessId, Vec<LoadedObject>> = HashMap::new();
        let mut by_id = HashMap::new();
        for (number, placement) in joined.placements.iter().enumerate() {
            let Some(id) = u32::try_from(number).ok().map(PlacementId) else { break };
            if let Some(place) = place(id, placement, objects) {
                by_process.entry(place.process).or_default().push(place);
                by_id.insert(id, place);
            }
        }
        let forked = joined.processes.iter().enumerate().filter(|(_, process)| !process.executed);
        let forked_by = forked
            .filter_map(|(child, process)| Some((ProcessId(u32::try_from(child).ok()?), process.parent?)))
            // A parent is before its children; anything else could go round in circles.
            .filter(|(child, parent)| parent < child)
            .collect();
        Self { by_process, by_id, forked_by }
    }

    /// An object by its placement.
    pub(super) fn get(&self, id: PlacementId) -> Option<&LoadedObject> {
        self.by_id.get(&id)
    }

    /// The objects that a process mapped itself, in order of time.
    pub(super) fn of(&self, process: ProcessId) -> &[LoadedObject] {
        self.by_process.get(&process).map_or(&[], Vec::as_slice)
    }

    /// The object that held an address at a moment, also if it was mapped before the process was forked. Where
    /// mappings were not recorded, an object is heard of only after it was relocated: then the next one that is heard
    /// of.
    pub(super) fn holding(&self, process: ProcessId, address: u64, at: Moment) -> Option<&LoadedObject> {
        let holds = |place: &LoadedObject| (place.low..place.high).contains(&address);
        let heard_later = || self.of(process).iter().find(|place| !place.was_mapped && holds(place));
        self.latest(process, |place| place.at <= at && holds(place)).or_else(heard_later)
    }

    /// The object of a load bias at a moment. A position-dependent program has 0, like the address of nothing else.
    pub(super) fn with_bias(&self, process: ProcessId, bias: u64, at: Moment) -> Option<&LoadedObject> {
        self.latest(process, |place| place.at <= at && place.bias == bias)
    }

    fn latest(&self, mut process: ProcessId, wanted: impl Fn(&LoadedObject) -> bool) -> Option<&LoadedObject> {
        loop {
            if let Some(place) = self.of(process).iter().rev().find(|place| wanted(place)) {
                return Some(place);
            }
            process = *self.forked_by.get(&process)?;
        }
    }

    /// As the trace keeps them, in order of time.
    pub(super) fn loads(&self) -> Vec<Load> {
        let mut places: Vec<&LoadedObject> = self.by_id.values().collect();
        places.sort_by_key(|place| (place.at, place.id));
        places
            .into_iter()
            .map(|&LoadedObject { process, file, bias, at, .. }| Load { process, file, bias, at })
            .collect()
    }
}

fn place(id: PlacementId, placement: &Placement, objects: &Objects<'_>) -> Option<LoadedObject> {
    let object = objects.get(placement.file).filter(|_| placement.as_object)?;
    let bias = placement.told_bias.or_else(|| computed_bias(placement, object))?;
    let low = object.segments.iter().map(|segment| segment.address).min()?;
    let high = object.segments.iter().map(|segment| segment.address.saturating_add(segment.memory_size)).max()?;
    Some(LoadedObject {
        id,
        file: placement.file,
        process: placement.process,
        thread: placement.thread,
        at: placement.at,
        bias,
        was_mapped: placement.lowest.is_some(),
        low: bias.wrapping_add(low),
        high: bias.wrapping_add(high),
    })
}

/// The load bias by what is mapped: memory and file agree modulo the page size, and the lowest mapping is the lowest
/// segment's, from the beginning of its page (System V ABI, "Program Loading").
fn computed_bias(placement: &Placement, object: &TracedObject) -> Option<u64> {
    let Some(lowest) = placement.lowest else {
        return Some(placement.entry?.wrapping_sub(object.entry));
    };
    let page = |value: u64| value & !0xfff;
    let begins_there = |segment: &&ObjectSegment| page(segment.offset) == page(lowest.offset);
    let segment = object.segments.iter().find(begins_there)?;
    Some(page(lowest.address).wrapping_sub(page(segment.address)))
}

/// The place in the file of an address without load bias; `None` in zero-filled memory.
pub(super) fn offset_of(object: &TracedObject, address: u64) -> Option<u64> {
    object.segments.iter().find_map(|segment| {
        let inside = address.checked_sub(segment.address)?;
        (inside < segment.file_size).then(|| segment.offset.checked_add(inside))?
    })
}

/// The address, without load bias, of an instruction at a place in the file: two segments may share a page, only one
/// is executable.
pub(super) fn code_address(object: &TracedObject, offset: u64) -> Option<u64> {
    let executable = object.segments.iter().filter(|segment| segment.flags & 1 != 0).find_map(|segment| {
        let inside = offset.checked_sub(segment.offset)?;
        (inside < segment.file_size).then(|| segment.address.checked_add(inside))?
    });
    executable.or_else(|| object.address_of(offset))
}
