//! Pages of a file: the unit in which the kernel caches, reads and maps it.

use serde::{Deserialize, Serialize};

/// The unit of every page number in coldstart's data and files, in bytes.
///
/// It is fixed at 4 KiB so that files written on one machine mean the same on another; kernels with larger base
/// pages report whole multiples of it.
pub const PAGE_SIZE: u64 = 4096;

/// Number of a page within its file: file offset / [`PAGE_SIZE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageIndex(pub u64);

/// A run of pages of one file. Never empty if made by [`PageRange::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageRange {
    /// First page.
    pub start: PageIndex,
    /// Number of pages, at least 1.
    pub count: u64,
}

impl PageRange {
    /// The range of `count` pages from `start`; `None` for an empty range or one past the largest page number.
    pub fn new(start: u64, count: u64) -> Option<Self> {
        (count > 0 && start.checked_add(count).is_some()).then_some(Self { start: PageIndex(start), count })
    }

    /// One past the last page.
    pub fn end(&self) -> PageIndex {
        PageIndex(self.start.0.saturating_add(self.count))
    }

    /// Offset of the first byte in the file, in bytes; saturates at `u64::MAX`.
    pub fn offset(&self) -> u64 {
        self.start.0.saturating_mul(PAGE_SIZE)
    }

    /// Length in bytes; saturates at `u64::MAX`.
    pub fn length(&self) -> u64 {
        self.count.saturating_mul(PAGE_SIZE)
    }
}

/// Number of pages that a file of `size` bytes takes.
pub fn page_count(size: u64) -> u64 {
    size.div_ceil(PAGE_SIZE)
}

/// Sorts ranges and joins those that overlap or touch, or that are at most `gap` pages apart.
pub fn merge_ranges(mut ranges: Vec<PageRange>, gap: u64) -> Vec<PageRange> {
    ranges.sort_unstable();
    let mut merged: Vec<PageRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start.0 <= last.end().0.saturating_add(gap) => {
                last.count = last.end().0.max(range.end().0) - last.start.0;
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_and_overflowing_ranges_cannot_be_made() {
        assert_eq!(PageRange::new(3, 0), None);
        assert_eq!(PageRange::new(u64::MAX, 1), None);
        assert!(PageRange::new(u64::MAX - 1, 1).is_some());
    }

    proptest! {
        #[test]
        fn merging_covers_the_same_pages(input in prop::collection::vec((0u64..500, 1u64..20), 0..60), gap in 0u64..10) {
            let ranges: Vec<_> = input.iter().filter_map(|&(start, count)| PageRange::new(start, count)).collect();
            let merged = merge_ranges(ranges.clone(), gap);
            for range in &ranges {
                prop_assert!(merged.iter().any(|m| m.start <= range.start && m.end() >= range.end()));
            }
            for pair in merged.windows(2) {
                prop_assert!(pair[0].end().0 + gap < pair[1].start.0);
            }
            let wanted: std::collections::HashSet<u64> = ranges.iter().flat_map(|r| r.start.0..r.end().0).collect();
            let covered: u64 = merged.iter().map(|r| r.count).sum();
            if gap == 0 {
                prop_assert_eq!(covered, wanted.len() as u64);
            }
        }
    }
}
