//! What holds for the mapped segments of each file alone.

use object::elf::PT_LOAD;

use super::encoding::Encoding;
use super::headers::Segment;
use crate::verdict::{NotProven, Which, broken, hex};

const WHAT: &str = "load segment";

/// What must hold for each file alone, before anything in it can be found by address.
pub(super) fn check(which: Which, encoding: Encoding, segments: &[Segment], size: u64) -> Result<(), NotProven> {
    let wrong = |segment: &Segment, problem: &str| Err(broken(which, WHAT, hex(segment.address), problem));
    let mut end = 0;
    for load in segments.iter().filter(|segment| segment.kind == PT_LOAD) {
        if load.file_size > load.memory_size {
            return wrong(load, "it has more bytes in the file than in memory");
        }
        if load.offset.checked_add(load.file_size).is_none_or(|end| end > size) {
            return wrong(load, "it reaches beyond the end of the file");
        }
        match load.address.checked_add(load.memory_size) {
            Some(new_end) if load.address >= end && (encoding.wide || new_end <= 1 << 32) => end = new_end,
            _ => return wrong(load, "it is not behind the segment before it"),
        }
        if load.align > 1 {
            if !load.align.is_power_of_two() {
                return wrong(load, "its alignment is no power of two");
            }
            let below = load.align.saturating_sub(1);
            if load.offset & below != load.address & below {
                return wrong(load, "its file offset and address differ modulo its alignment");
            }
        }
    }
    Ok(())
}
