//! Where in a file its resident pages are, drawn in 20 characters.

use coldstart_app::pagecache::ALL;

use crate::output::charset::either;

/// From a sliver to nearly full. None and all have signs of their own, so that they cannot be mistaken.
const UTF_8: Signs = Signs { none: '·', partial: ['▁', '▂', '▃', '▄', '▅', '▆', '▇'], all: '█' };
const ASCII: Signs = Signs { none: '.', partial: ['1', '2', '3', '4', '5', '6', '7'], all: '#' };

struct Signs {
    none: char,
    partial: [char; 7],
    all: char,
}

/// Draws which parts of a file are resident, by the levels of its cells.
///
/// A cell is a twentieth of the file: `·` holds no resident page, `█` nothing else, the blocks between show the share. In
/// ASCII these are `.`, `#`, and `1` to `7`.
pub(super) fn strip(coverage: &[u8]) -> String {
    coverage.iter().map(|level| glyph(*level)).collect()
}

fn glyph(level: u8) -> char {
    let signs = either(UTF_8, ASCII);
    match level {
        0 => signs.none,
        ALL.. => signs.all,
        level => signs.partial.get(usize::from(level) - 1).copied().unwrap_or(signs.all),
    }
}

#[cfg(test)]
mod tests {
    use coldstart_app::pagecache::coverage;
    use coldstart_profile::PageRange;

    fn strip(ranges: &[PageRange], file_pages: u64) -> String {
        super::strip(&coverage(ranges, file_pages))
    }

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
}
