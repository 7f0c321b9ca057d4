//! Sorting all rings' records without decoding them: sixteen bytes each.
//!
//! Each ring is nearly sorted already, but a thread moves between processors.

use std::collections::HashMap;

use super::decode::{Decoded, RingLayout, decode, record_at};
use super::record::{PerfRecord, PerfRecordKind};

/// Where a record stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPosition {
    at: u64,
    /// A ring's bytes are limited to 1 GiB.
    offset: u32,
    ring: u16,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Record,
    /// A fault that waited for the disk, according to a later record.
    MajorFault,
    /// States that an earlier fault waited for the disk.
    Served,
    /// A fault of an unrelated process.
    Foreign,
}

/// All records in order, with counts of the rest.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) places: Vec<RecordPosition>,
    /// Lost records, as far as later records report.
    pub(super) lost: u64,
    pub(super) throttled: u64,
    /// Records that could not be decoded, or were not requested.
    pub(super) unreadable: u64,
}

/// Sorts the records of all rings by time. `process` is the first recorded process; `begin_is_told` means that faults come from
/// tracepoints, of all processes of the machine.
pub(super) fn order(rings: &[(Vec<u8>, RingLayout)], process: u32, begin_is_told: bool) -> Order {
    let mut order = Order::default();
    for (ring, (bytes, layout)) in (0u16..).zip(rings) {
        let mut next = 0;
        while let Some((raw, behind)) = record_at(bytes, next) {
            let Ok(offset) = u32::try_from(next) else { break };
            next = behind;
            let (at, role) = match decode(raw, layout) {
                Decoded::Record(record) => (record.at, Role::Record),
                Decoded::Served(record) => (record.at, if begin_is_told { Role::Served } else { Role::Record }),
                Decoded::Lost(count) => {
                    order.lost = order.lost.saturating_add(count);
                    continue;
                }
                Decoded::Throttled => {
                    order.throttled += 1;
                    continue;
                }
                Decoded::Nothing => continue,
                Decoded::Unknown | Decoded::Damaged => {
                    order.unreadable += 1;
                    continue;
                }
            };
            order.places.push(RecordPosition { at, offset, ring, role });
        }
        if next < bytes.len() {
            order.unreadable += 1;
        }
    }
    order.places.sort_unstable_by_key(|place| (place.at, place.ring, place.offset));
    if begin_is_told {
        join_served(rings, process, &mut order.places);
    }
    order
}

/// Marks the faults that waited for the disk, and removes those of other processes. A thread does nothing between a fault's begin and
/// its end, so its last fault is the matching one; if that is of another page, a record was lost, and the end record is kept instead.
fn join_served(rings: &[(Vec<u8>, RingLayout)], process: u32, places: &mut Vec<RecordPosition>) {
    let mut tree = Tree::of(process);
    let mut last_of_thread: HashMap<u32, (usize, u64)> = HashMap::new();
    for at in 0..places.len() {
        let Some(place) = places.get(at).copied() else { break };
        let Some(record) = read(rings, place) else { continue };
        let (at, role) = match record.what {
            PerfRecordKind::Fault(fault) if place.role == Role::Served => match last_of_thread.remove(&record.thread) {
                Some((begin, page)) if page == fault.address >> 12 => (begin, Role::MajorFault),
                _ => (at, Role::Record),
            },
            PerfRecordKind::Fault(_) if !tree.has(record.process) => (at, Role::Foreign),
            PerfRecordKind::Fault(fault) => {
                last_of_thread.insert(record.thread, (at, fault.address >> 12));
                continue;
            }
            PerfRecordKind::Began { .. } => {
                tree.begin(record.process);
                continue;
            }
            PerfRecordKind::Ended => {
                tree.end(record.process);
                continue;
            }
            PerfRecordKind::Mapped(_) | PerfRecordKind::Executed { .. } => continue,
        };
        if let Some(place) = places.get_mut(at) {
            place.role = role;
        }
    }
    places.retain(|place| matches!(place.role, Role::Record | Role::MajorFault));
}

/// The processes of the tree, each with its number of threads, because PIDs are reused.
struct Tree(HashMap<u32, u32>);

impl Tree {
    fn of(process: u32) -> Self {
        Self(HashMap::from([(process, 1)]))
    }

    fn has(&self, process: u32) -> bool {
        self.0.contains_key(&process)
    }

    fn begin(&mut self, process: u32) {
        let threads = self.0.entry(process).or_default();
        *threads = threads.saturating_add(1);
    }

    fn end(&mut self, process: u32) {
        if let Some(threads) = self.0.get_mut(&process) {
            *threads = threads.saturating_sub(1);
            if *threads == 0 {
                self.0.remove(&process);
            }
        }
    }
}

/// Decodes a record.
pub(super) fn read(rings: &[(Vec<u8>, RingLayout)], place: RecordPosition) -> Option<PerfRecord> {
    let (bytes, layout) = rings.get(usize::from(place.ring))?;
    let (raw, _) = record_at(bytes, usize::try_from(place.offset).ok()?)?;
    let (Decoded::Record(mut record) | Decoded::Served(mut record)) = decode(raw, layout) else { return None };
    if let (Role::MajorFault, PerfRecordKind::Fault(fault)) = (place.role, &mut record.what) {
        fault.major = true;
    }
    Some(record)
}
