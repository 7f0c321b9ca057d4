//! Where in a file its resident pages are, drawn in 20 characters.

use coldstart_profile::PageRange;

use crate::output::charset::either;

/// Width of a strip.
pub(super) const CELLS: usize = 20;

/// From a sliver to nearly full. None and all have signs of their own, so that they cannot be mistaken.
const UTF_8: Signs = Signs { none: '·', partial: ['▁', '▂', '▃', '▄', '▅', '▆', '▇'], all: '█' };
const ASCII: Signs = Signs { none: '.', partial: ['1', '2', '3', '4', '5', '6', '7'], all: '#' };

struct Signs {
    none: char,
    partial: [char; 7],
    all: char,
}

/// Draws which parts of a file of `file_pages` pages are in `ranges` (in order, not overlapping). Empty for an empty file.
///
/// A cell is a twentieth of the file: `·` holds no resident page, `█` nothing else, the blocks between show the share. In
/// ASCII these are `.`, `#`, and `1` to `7`.
pub(super) fn strip(ranges: &[PageRange], file_pages: u64) -> String {
    if file_pages == 0 {
        return String::new();
    }
    (0..CELLS as u128).map(|cell| glyph(covered(ranges, file_pages, cell), u128::from(file_pages))).collect()
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

fn glyph(covered: u128, whole: u128) -> char {
    let signs = either(UTF_8, ASCII);
    if covered == 0 {
        return signs.none;
    }
    if covered >= whole {
        return signs.all;
    }
    let level = (covered * signs.partial.len() as u128).div_ceil(whole) as usize;
    signs.partial[level.clamp(1, signs.partial.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(list: &[(u64, u64)]) -> Vec<PageRange> {
        list.iter().filter_map(|&(start, count)| PageRange::new(start, count)).collect()
    }

    #[test]
    fn none_all_and_parts_look_different() {
        assert_eq!(strip(&[], 0), "");
        assert_eq!(strip(&[], 1), "····················");
        assert_eq!(strip(&ranges(&[(0, 1)]), 1), "████████████████████");
        assert_eq!(strip(&ranges(&[(1, 1)]), 2), "··········██████████");
        assert_eq!(strip(&ranges(&[(0, 1)]), 3), "██████▅·············");
        assert_eq!(strip(&ranges(&[(0, 1), (1_999_999, 1)]), 2_000_000), "▁··················▁");
        assert_eq!(strip(&ranges(&[(0, 1_999_999)]), 2_000_000), "███████████████████▇");
        assert_eq!(strip(&ranges(&[(0, u64::MAX - 1)]), u64::MAX - 1), "████████████████████");
    }

    proptest! {
        #[test]
        fn cells_add_up_to_the_resident_pages(lengths in prop::collection::vec((0u64..50, 1u64..50), 0..30), tail in 1u64..50) {
            let mut page = 0;
            let mut list = Vec::new();
            for (gap, length) in lengths {
                list.push((page + gap, length));
                page += gap + length;
            }
            let (ranges, file_pages) = (ranges(&list), page + tail);
            let drawn: u128 = (0..CELLS as u128).map(|cell| covered(&ranges, file_pages, cell)).sum();
            let resident: u64 = list.iter().map(|range| range.1).sum();
            prop_assert_eq!(drawn, u128::from(resident) * CELLS as u128);
        }
    }
}
