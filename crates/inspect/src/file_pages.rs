//! Ranges of a file, and how many pages or readahead windows they touch.
//!
//! Pages are 4 KiB here, as on most machines, whatever the page size of the machine that runs coldstart.

use std::ops::Range;

/// A page, in bytes.
pub(crate) const PAGE: u64 = 4 << 10;
/// The kernel's default readahead (`read_ahead_kb` of a block device), in bytes.
pub(crate) const READAHEAD_WINDOW: u64 = 128 << 10;

/// The page that the byte at `offset` is in.
pub(crate) fn page_of(offset: u64) -> u64 {
    offset / PAGE
}

/// The page boundary at or above `address`; saturates.
pub(crate) fn round_up(address: u64, unit: u64) -> u64 {
    address.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

/// The largest multiple of `unit` at or below `address`.
pub(crate) fn round_down(address: u64, unit: u64) -> u64 {
    address.saturating_sub(address.checked_rem(unit).unwrap_or(0))
}

/// The ranges in ascending order, with touching and overlapping ones merged. Empty ones are omitted.
pub(crate) fn merged(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.retain(|part| !part.is_empty());
    parts.sort_by_key(|part| part.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match merged.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => merged.push(part),
        }
    }
    merged
}

/// Number of distinct units (pages, windows) of `unit` bytes that the ranges touch.
pub(crate) fn distinct_units(parts: &[Range<u64>], unit: u64) -> u64 {
    let units = parts.iter().filter(|part| !part.is_empty()).map(|part| {
        let last = part.end.saturating_sub(1).checked_div(unit).unwrap_or(0);
        part.start.checked_div(unit).unwrap_or(0)..last.saturating_add(1)
    });
    total(&merged(units.collect()))
}

/// The total size of the ranges.
pub(crate) fn total(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end.saturating_sub(part.start)).fold(0, u64::saturating_add)
}

/// The bytes of `range` that no part covers; parts come from [`merged`].
pub(crate) fn uncovered(range: Range<u64>, merged: &[Range<u64>]) -> u64 {
    let first = merged.partition_point(|part| part.end <= range.start);
    let rest = merged.get(first..).unwrap_or_default();
    let inside = rest.iter().take_while(|part| part.start < range.end);
    let covered = inside.map(|part| part.end.min(range.end).saturating_sub(part.start.max(range.start)));
    range.end.saturating_sub(range.start).saturating_sub(covered.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_put_together() {
        assert_eq!(merged(vec![5..7, 0..2, 2..3, 6..9, 4..4]), [0..3, 5..9]);
        assert_eq!(distinct_units(&[0..1, 1..4096, 4096..4097], PAGE), 2);
        assert_eq!(uncovered(1..8, &merged(vec![0..3, 5..9])), 2);
        assert_eq!(round_up(1, PAGE), PAGE);
        assert_eq!(round_up(u64::MAX, PAGE), u64::MAX);
        assert_eq!(round_down(PAGE + 1, PAGE), PAGE);
    }

    proptest! {
        #[test]
        fn the_same_as_counting_byte_by_byte(
            parts in prop::collection::vec((0_u64..300, 0_u64..40), 0..20),
            (start, size) in (0_u64..300, 0_u64..300),
        ) {
            let parts: Vec<Range<u64>> = parts.into_iter().map(|(start, size)| start..start + size).collect();
            let is_covered = |byte: &u64| parts.iter().any(|part| part.contains(byte));
            let whole = merged(parts.clone());
            prop_assert_eq!(total(&whole), (0..400).filter(is_covered).count() as u64);
            let range = start..start + size;
            prop_assert_eq!(uncovered(range.clone(), &whole), range.filter(|byte| !is_covered(byte)).count() as u64);
            let units: std::collections::BTreeSet<u64> = (0..400).filter(is_covered).map(|byte| byte / 16).collect();
            prop_assert_eq!(distinct_units(&parts, 16), units.len() as u64);
        }
    }
}
