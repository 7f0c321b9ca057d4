//! Rules for the mapped segments of each file alone.

use object::elf::PT_LOAD;

use super::encoding::Encoding;
use super::headers::Segment;
use crate::verdict::{NotProven, Which, broken, hex};

const WHAT: &str = "load segment";

/// Rules for each file alone, checked before anything is looked up by address.
pub(super) fn check(which: Which, encoding: Encoding, segments: &[Segment], size: u64) -> Result<(), NotProven> {
    let wrong = |segment: &Segment, problem: &str| Err(broken(which, WHAT, hex(segment.address), problem));
    let mut end = 0;
    for load in segments.iter().filter(|segment| segment.kind == PT_LOAD) {
        if load.file_size > load.memory_size {
            return wrong(load, "its file size exceeds its memory size");
        }
        if load.offset.checked_add(load.file_size).is_none_or(|end| end > size) {
            return wrong(load, "extends past the end of the file");
        }
        match load.address.checked_add(load.memory_size) {
            Some(new_end) if load.address >= end && (encoding.wide || new_end <= 1 << 32) => end = new_end,
            _ => return wrong(load, "it is not after the previous segment"),
        }
        if load.align > 1 {
            if !load.align.is_power_of_two() {
                return wrong(load, "its alignment is not a power of two");
            }
            let below = load.align.saturating_sub(1);
            if load.offset & below != load.address & below {
                return wrong(load, "its file offset and address are not congruent modulo its alignment");
            }
        }
    }
    Ok(())
}
