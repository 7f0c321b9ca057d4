//! Which mapped segment an address belongs to, where segments may overlap.
//!
//! The loader maps segments in the order of their headers, each over the ones before, so the last one wins. The
//! lookup runs for every relocated word; to keep it fast in files with very many segments, they are split once into
//! ranges that do not overlap.

use std::collections::BTreeMap;

/// Address ranges, each with the index of its segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressMap {
    /// Start, end (exclusive), segment; ascending and not overlapping.
    ranges: Vec<(u64, u64, usize)>,
}

impl AddressMap {
    /// From (start, size, segment) in the order of mapping.
    pub(crate) fn new(segments: impl Iterator<Item = (u64, u64, usize)>) -> Self {
        let segments: Vec<(u64, u64, usize)> = segments.collect();
        // The format requires ascending segments without overlaps, and nearly all files comply: then they are the
        // answer.
        let with_end = |(start, size, segment): (u64, u64, usize)| (start, start.saturating_add(size), segment);
        let ranges: Vec<(u64, u64, usize)> = segments.iter().copied().map(with_end).collect();
        let is_plain = ranges.iter().all(|(start, end, _)| start < end);
        if is_plain && ranges.is_sorted_by(|(_, end, _), (start, _, _)| end <= start) {
            return Self { ranges };
        }
        // Start to (end, segment).
        let mut ranges: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        for (start, size, segment) in segments {
            let end = start.saturating_add(size);
            if start >= end {
                continue;
            }
            // An earlier range may overlap this one or extend past it.
            if let Some((&before, &(before_end, other))) = ranges.range(..start).next_back()
                && before_end > start
            {
                ranges.insert(before, (start, other));
                if before_end > end {
                    ranges.insert(end, (before_end, other));
                }
            }
            while let Some((&covered, &(covered_end, other))) = ranges.range(start..end).next() {
                ranges.remove(&covered);
                if covered_end > end {
                    ranges.insert(end, (covered_end, other));
                }
            }
            ranges.insert(start, (end, segment));
        }
        Self { ranges: ranges.into_iter().map(|(start, (end, segment))| (start, end, segment)).collect() }
    }

    /// The segment that `address` belongs to.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let behind = self.ranges.partition_point(|(start, _, _)| *start <= address);
        let (_, end, segment) = self.ranges.get(behind.checked_sub(1)?)?;
        (address < *end).then_some(*segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_segment_that_covers_an_address_has_it(
            segments in prop::collection::vec((0_u64..200, 0_u64..80), 0..20),
            addresses in prop::collection::vec(0_u64..300, 50),
        ) {
            let numbered = segments.iter().enumerate().map(|(number, (start, size))| (*start, *size, number));
            let map = AddressMap::new(numbered);
            for address in addresses {
                let covers = |(start, size): &(u64, u64)| (*start..start + size).contains(&address);
                prop_assert_eq!(map.find(address), segments.iter().rposition(covers));
            }
        }
    }
}
