//! Sets of pages with range counts.

use crate::{PageRange, merge_ranges};

/// Pages of a file, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageSet {
    /// Ascending, with gaps between them.
    ranges: Vec<PageRange>,
    /// How many pages the ranges up to each hold, itself left out.
    before: Vec<u64>,
    count: u64,
}

impl PageSet {
    /// From ranges in any order.
    pub(super) fn new(ranges: Vec<PageRange>) -> Self {
        let ranges = merge_ranges(ranges, 0);
        let mut count = 0u64;
        let mut before = Vec::with_capacity(ranges.len());
        for range in &ranges {
            before.push(count);
            count = count.saturating_add(range.count);
        }
        Self { ranges, before, count }
    }

    /// How many pages.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// How many pages from `start` up to `end`, itself left out.
    pub(super) fn within(&self, start: u64, end: u64) -> u64 {
        self.below(end).saturating_sub(self.below(start))
    }

    /// Those of this set and of another.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self::new(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// How many pages of this set are not in another.
    pub(super) fn count_without(&self, other: &Self) -> u64 {
        self.with(other).count.saturating_sub(other.count)
    }

    fn below(&self, page: u64) -> u64 {
        let behind = self.ranges.partition_point(|range| range.start.0 < page);
        let Some(last) = behind.checked_sub(1) else { return 0 };
        let (Some(range), Some(before)) = (self.ranges.get(last), self.before.get(last)) else { return 0 };
        before.saturating_add(range.count.min(page.saturating_sub(range.start.0)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(ranges: &[(u64, u64)]) -> (PageSet, BTreeSet<u64>) {
        let pages = ranges.iter().flat_map(|&(start, count)| start..start + count).collect();
        (PageSet::new(ranges.iter().filter_map(|&(start, count)| PageRange::new(start, count)).collect()), pages)
    }

    proptest! {
        #[test]
        fn sets_count_as_sets_do(
            these in prop::collection::vec((0u64..200, 1u64..9), 0..40),
            those in prop::collection::vec((0u64..200, 1u64..9), 0..40),
            start in 0u64..210,
            length in 0u64..210,
        ) {
            let ((these, these_pages), (those, those_pages)) = (set(&these), set(&those));
            prop_assert_eq!(these.count(), these_pages.len() as u64);
            prop_assert_eq!(these.within(start, start + length), these_pages.range(start..start + length).count() as u64);
            prop_assert_eq!(these.with(&those).count(), these_pages.union(&those_pages).count() as u64);
            prop_assert_eq!(these.count_without(&those), these_pages.difference(&those_pages).count() as u64);
        }
    }

    #[test]
    fn huge_ranges_take_no_room() {
        let huge = PageSet::new(PageRange::new(5, u64::MAX - 5).into_iter().chain(PageRange::new(0, 9)).collect());
        assert_eq!((huge.count(), huge.within(0, 3), huge.within(9, 4)), (u64::MAX, 3, 0));
    }
}
