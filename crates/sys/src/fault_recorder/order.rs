//! All rings' records in one order, without taking them apart: sixteen bytes each.
//!
//! A ring is nearly in order by itself, but a thread moves from processor to processor.

use std::collections::HashMap;

use super::decode::{Decoded, RingLayout, decode, record_at};
use super::record::{Record, RecordKind};

/// Where a record stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    at: u64,
    /// A ring's bytes are limited to 1 GiB.
    offset: u32,
    ring: u16,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Record,
    /// A fault that waited for the disk, as a later record says.
    MajorFault,
    /// Says that a fault, told of by an earlier record, waited for the disk.
    Served,
}

/// All records in order, and what else stood between them.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) places: Vec<Place>,
    /// Records that found the ring full, as far as later records tell.
    pub(super) lost: u64,
    pub(super) throttled: u64,
    /// Records that could not be read, or were not asked for.
    pub(super) unreadable: u64,
}

/// Orders the records of all rings by time.
pub(super) fn order(rings: &[(Vec<u8>, RingLayout)], begin_is_told: bool) -> Order {
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
            order.places.push(Place { at, offset, ring, role });
        }
        if next < bytes.len() {
            order.unreadable += 1;
        }
    }
    order.places.sort_unstable_by_key(|place| (place.at, place.ring, place.offset));
    if begin_is_told {
        join_served(rings, &mut order.places);
    }
    order
}

/// Marks the faults that waited for the disk. A thread does nothing between a fault's begin and its end, so its last fault is the one;
/// if that is of another page, a record was lost, and the one of the end stays in the place of the begin.
fn join_served(rings: &[(Vec<u8>, RingLayout)], places: &mut Vec<Place>) {
    // Few faults are major, and most programs have none in a hot start.
    if !places.iter().any(|place| place.role == Role::Served) {
        return;
    }
    let mut last_of_thread: HashMap<u32, (usize, u64)> = HashMap::new();
    let mut marked = Vec::new();
    for at in 0..places.len() {
        let Some(place) = places.get(at).copied() else { break };
        let Some(record) = read(rings, place) else { continue };
        let RecordKind::Fault(fault) = record.what else { continue };
        let page = fault.address >> 12;
        if place.role != Role::Served {
            last_of_thread.insert(record.thread, (at, page));
            continue;
        }
        match last_of_thread.remove(&record.thread) {
            Some((begin, begun)) if begun == page => marked.push((begin, at)),
            _ => {
                if let Some(place) = places.get_mut(at) {
                    place.role = Role::Record;
                }
            }
        }
    }
    for (begin, _) in marked {
        if let Some(place) = places.get_mut(begin) {
            place.role = Role::MajorFault;
        }
    }
    places.retain(|place| place.role != Role::Served);
}

/// Takes a record apart.
pub(super) fn read(rings: &[(Vec<u8>, RingLayout)], place: Place) -> Option<Record> {
    let (bytes, layout) = rings.get(usize::from(place.ring))?;
    let (raw, _) = record_at(bytes, usize::try_from(place.offset).ok()?)?;
    let (Decoded::Record(mut record) | Decoded::Served(mut record)) = decode(raw, layout) else { return None };
    if let (Role::MajorFault, RecordKind::Fault(fault)) = (place.role, &mut record.what) {
        fault.major = true;
    }
    Some(record)
}
