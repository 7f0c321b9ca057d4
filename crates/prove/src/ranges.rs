//! Sets of addresses or file offsets, as ranges in order.

use std::ops::Range;

/// Sorted, not empty; adjacent ranges are joined.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The part of a range outside the others, which are joined.
pub(crate) fn without(range: &Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    let first = others.partition_point(|other| other.end <= range.start);
    for other in others.get(first..).unwrap_or(&[]).iter().take_while(|other| other.start < range.end) {
        if at < other.start {
            left.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        left.push(at..range.end);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_taken_away() {
        let ranges = joined(vec![8..10, 0..4, 4..6, 9..12, 20..20]);
        assert_eq!(ranges, [0..6, 8..12]);
        assert_eq!(without(&(2..20), &ranges), [6..8, 12..20]);
        assert_eq!(without(&(6..13), &ranges), [6..8, 12..13]);
        assert_eq!(without(&(0..6), &ranges), [0_u64..0; 0]);
    }
}
