//! The position of resident pages in a file, in twentieths.

use coldstart_profile::PageRange;

/// Number of cells of a file.
pub const CELLS: usize = 20;
/// The level of a fully resident cell. 0 is a cell without resident pages; the levels between show the share.
pub const ALL: u8 = 8;

/// How much of each twentieth of a file of `file_pages` pages is in `ranges` (in order, not overlapping), from 0 to [`ALL`].
/// Empty for an empty file.
pub fn coverage(ranges: &[PageRange], file_pages: u64) -> Vec<u8> {
    if file_pages == 0 {
        return Vec::new();
    }
    (0..CELLS as u128).map(|cell| level(covered(ranges, file_pages, cell), u128::from(file_pages))).collect()
}

/// How much of a cell is resident, where the whole cell is `file_pages`: counted in twentieths of a page, in which page
/// `p` is `20 p .. 20 (p + 1)` and cell `c` is `n c .. n (c + 1)`. So nothing is rounded.
fn covered(ranges: &[PageRange], file_pages: u64, cell: u128) -> u128 {
    let (from, to) = (u128::from(file_pages) * cell, u128::from(file_pages) * (cell + 1));
    // Files may have very many ranges: skip those in front of the cell, stop behind it.
    let first = ranges.partition_point(|range| u128::from(range.end().0) * CELLS as u128 <= from);
    let ranges = ranges.iter().skip(first);
    let twentieths = ranges.map(|range| {
        let (start, end) = (u128::from(range.start.0) * CELLS as u128, u128::from(range.end().0) * CELLS as u128);
        (start, end)
    });
    twentieths.take_while(|&(start, _)| start < to).map(|(start, end)| end.min(to) - start.max(from)).sum()
}

/// From a sliver to nearly full. None and all have levels of their own, so that they cannot be mistaken.
fn level(covered: u128, whole: u128) -> u8 {
    if covered >= whole {
        return ALL;
    }
    let partial = u128::from(ALL) - 1;
    u8::try_from((covered * partial).div_ceil(whole).min(partial)).unwrap_or(ALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_add_up_to_the_resident_pages(lengths in prop::collection::vec((0u64..50, 1u64..50), 0..30), tail in 1u64..50) {
            let mut page = 0;
            let mut list = Vec::new();
            for (gap, length) in lengths {
                list.push((page + gap, length));
                page += gap + length;
            }
            let ranges: Vec<_> = list.iter().filter_map(|&(start, count)| PageRange::new(start, count)).collect();
            let file_pages = page + tail;
            let drawn: u128 = (0..CELLS as u128).map(|cell| covered(&ranges, file_pages, cell)).sum();
            let resident: u64 = list.iter().map(|range| range.1).sum();
            prop_assert_eq!(drawn, u128::from(resident) * CELLS as u128);
        }
    }
}
