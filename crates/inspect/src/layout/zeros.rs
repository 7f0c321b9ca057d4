//! Zero-filled memory, and the file page that its beginning shares with data.
//!
//! If zeros begin inside a page, the kernel or the loader clears the rest of that page when it maps the file (Linux
//! `fs/binfmt_elf.c`, `padzero`; glibc `elf/dl-map-segments.h`): the page is read and copied before anything else
//! runs, even if the program never uses it.

use coldstart_elf::{Segment, Vaddr};
use serde::Serialize;

use super::segments::file_range;
use crate::file_pages::{PAGE, page_of, round_down, round_up};
use crate::object::Object;
use crate::slots::Slots;

/// The zero-filled part of a segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZeroFill {
    /// Its address, before the load bias.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The file page that must be read and copied to clear its end, from 0; none if the zeros begin at a page
    /// boundary.
    pub shared_file_page: Option<u64>,
    /// Cleared bytes of that page.
    pub cleared_bytes: u64,
    /// Whether relocation writes to that page as well, so that clearing it costs nothing extra.
    pub shared_page_is_relocated: bool,
}

pub(super) fn zero_fill(object: &Object<'_>) -> Vec<ZeroFill> {
    let with_zeros = object.file.load_segments().filter(|segment| segment.memory_size > segment.file_size);
    with_zeros.map(|segment| describe(object, segment)).collect()
}

fn describe(object: &Object<'_>, segment: &Segment) -> ZeroFill {
    let shared = shared_page(object, segment);
    let start = segment.file_end().0;
    let page = Vaddr(round_down(start, PAGE))..Vaddr(round_up(start, PAGE));
    ZeroFill {
        address: start,
        bytes: segment.memory_size.saturating_sub(segment.file_size),
        shared_file_page: shared,
        cleared_bytes: if shared.is_some() { page.end.0.saturating_sub(start) } else { 0 },
        shared_page_is_relocated: shared.is_some() && changes_within(&object.slots, page.start, page.end),
    }
}

/// The file page in which a segment's zeros begin.
pub(crate) fn shared_page(object: &Object<'_>, segment: &Segment) -> Option<u64> {
    let part = file_range(segment);
    let has_zeros = segment.memory_size > segment.file_size;
    let is_inside = !segment.file_end().0.is_multiple_of(PAGE) && !part.is_empty();
    // Read-only memory is not cleared.
    (has_zeros && is_inside && segment.is_writable() && part.end <= object.file.size()).then(|| page_of(part.end))
}

/// Whether relocation changes a word that begins in `start..end`.
fn changes_within(slots: &Slots, start: Vaddr, end: Vaddr) -> bool {
    let (mut low, mut high) = (0, slots.len());
    while low < high {
        let middle = low.midpoint(high);
        match slots.get(middle) {
            Some(slot) if slot.address < start => low = middle.saturating_add(1),
            _ => high = middle,
        }
    }
    slots.get(low).is_some_and(|slot| slot.address < end)
}
