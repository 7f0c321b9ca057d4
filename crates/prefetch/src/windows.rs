//! Splitting a working set into windows: runs of pages that are needed at about the same time.
//!
//! Within a window order is free, so its pages can be sorted and merged; between windows the order of first use holds. A
//! window as large as the working set gives the fewest requests, a small one delivers each page soonest.

use std::time::Duration;

use coldstart_profile::{PageRange, PageSource, Touched, WorkingSet};

/// Pages of one file inside a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Number of the file in the working set.
    pub(crate) file: usize,
    pub(crate) range: PageRange,
    /// Earliest first use of its pages.
    pub(crate) at: Duration,
}

/// Pages of a file that are read together with the first of them: 128 KiB, as far as the kernel reads around a page. A
/// device transfers that in little more than one request's time, and a request per touched page would make a plan
/// of thousands of requests instead of tens.
const BLOCK_PAGES: u64 = 32;

/// Windows of at least `window_bytes` each (the last may be smaller), pieces sorted by file and page and merged across
/// gaps of at most `gap` pages. No page is in two windows.
pub(crate) fn cut_windows(working_set: &WorkingSet, window_bytes: u64, gap: u64) -> Vec<Vec<Piece>> {
    let files = working_set.files.iter().enumerate();
    let mut pieces: Vec<Piece> = match working_set.source {
        PageSource::Touched => files.flat_map(|(number, file)| blocks(number, &file.touched, gap)).collect(),
        // The kernel's own reads already have sizes that suit the device.
        PageSource::PageCacheFills | PageSource::Residency => files
            .flat_map(|(file, used)| used.touched.iter().map(move |t| Piece { file, range: t.range, at: t.at }))
            .collect(),
    };
    // Files first used at one moment come in their own order, pages of a file in ascending order.
    pieces.sort_by_key(|piece| piece.at);

    let mut windows = Vec::new();
    let mut window = Vec::new();
    let mut bytes = 0u64;
    for piece in pieces {
        window.push(piece);
        bytes = bytes.saturating_add(piece.range.length());
        if bytes >= window_bytes {
            windows.push(join(std::mem::take(&mut window), gap));
            bytes = 0;
        }
    }
    if !window.is_empty() {
        windows.push(join(window, gap));
    }
    windows
}

/// A file's pages joined inside each aligned block, across gaps of at most `gap` pages; ascending.
fn blocks(file: usize, touched: &[Touched], gap: u64) -> Vec<Piece> {
    let mut touched: Vec<&Touched> = touched.iter().collect();
    touched.sort_by_key(|touched| touched.range.start);
    let mut pieces: Vec<Piece> = Vec::new();
    for touched in touched {
        let mut start = touched.range.start.0;
        while start < touched.range.end().0 {
            let block = start / BLOCK_PAGES;
            let end = touched.range.end().0.min(block.saturating_add(1).saturating_mul(BLOCK_PAGES));
            match pieces.last_mut() {
                Some(last)
                    if last.range.start.0 / BLOCK_PAGES == block && start <= last.range.end().0.saturating_add(gap) =>
                {
                    last.range.count = last.range.end().0.max(end) - last.range.start.0;
                    last.at = last.at.min(touched.at);
                }
                _ => pieces.extend(PageRange::new(start, end.saturating_sub(start)).map(|range| Piece {
                    file,
                    range,
                    at: touched.at,
                })),
            }
            if end <= start {
                break;
            }
            start = end;
        }
    }
    pieces
}

/// Sorts by file and page and joins neighbours.
fn join(mut pieces: Vec<Piece>, gap: u64) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.file, piece.range));
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.file == piece.file && piece.range.start.0 <= last.range.end().0.saturating_add(gap) => {
                last.range.count = last.range.end().0.max(piece.range.end().0) - last.range.start.0;
                last.at = last.at.min(piece.at);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::{FileIdentity, FileKind, FileUse};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn working_set(touches: &[(usize, u64, u64, u64)]) -> WorkingSet {
        let file = |number: usize| FileUse {
            path: format!("/f{number}").into(),
            kind: FileKind::Regular,
            identity: FileIdentity { size: 1 << 20, modified: 0 },
            device: 1,
            touched: touches
                .iter()
                .filter(|t| t.0 == number)
                .filter_map(|&(_, start, count, at)| {
                    Some(Touched { range: PageRange::new(start, count)?, at: Duration::from_millis(at) })
                })
                .collect(),
            extents: Vec::new(),
        };
        WorkingSet { files: (0..3).map(file).collect(), ..WorkingSet::default() }
    }

    #[test]
    fn neighbours_in_one_window_are_joined_and_keep_the_earliest_use() {
        let set = working_set(&[(0, 10, 2, 5), (0, 14, 1, 3), (1, 0, 1, 4)]);
        let windows = cut_windows(&set, u64::MAX, 2);
        assert_eq!(windows.len(), 1);
        let first = windows[0][0];
        assert_eq!((first.range.start.0, first.range.count, first.at.as_millis()), (10, 5, 3));
        assert_eq!(windows[0].len(), 2);
    }

    #[test]
    fn pages_beside_a_used_one_come_with_it_though_they_are_used_later() {
        // Used in turns with another file, as single pages: a request for each would be eight.
        let set = working_set(&[
            (0, 32, 1, 0),
            (1, 0, 1, 1),
            (0, 34, 1, 2),
            (1, 2, 1, 3),
            (0, 36, 1, 4),
            (1, 4, 1, 5),
            (0, 63, 1, 6),
            (0, 64, 1, 7),
        ]);
        let set = WorkingSet { source: PageSource::Touched, ..set };
        let windows = cut_windows(&set, 4096, 1);
        let flat: Vec<_> = windows.iter().flatten().map(|p| (p.file, p.range.start.0, p.range.count)).collect();
        assert_eq!(
            flat,
            [(0, 32, 5), (1, 0, 5), (0, 63, 1), (0, 64, 1)],
            "a far page and the next block wait for their turn"
        );
    }

    proptest! {
        #[test]
        fn every_page_is_in_some_window_and_windows_follow_first_use(
            touches in prop::collection::vec((0usize..3, 0u64..1000, 1u64..9, 0u64..1000), 1..40),
            window_pages in 1u64..200,
            gap in 0u64..8,
        ) {
            let set = working_set(&touches);
            let windows = cut_windows(&set, window_pages * 4096, gap);
            let wanted: BTreeSet<(usize, u64)> =
                touches.iter().flat_map(|&(file, start, count, _)| (start..start + count).map(move |p| (file, p))).collect();
            let planned: BTreeSet<(usize, u64)> = windows.iter().flatten()
                .flat_map(|piece| (piece.range.start.0..piece.range.end().0).map(|p| (piece.file, p))).collect();
            prop_assert!(planned.is_superset(&wanted));
            // A recorder puts no page into two ranges; here it may happen.
            let is_disjoint = touches.iter().map(|t| t.2).sum::<u64>() == wanted.len() as u64;
            let listed: u64 = windows.iter().flatten().map(|piece| piece.range.count).sum();
            if gap == 0 && is_disjoint {
                prop_assert_eq!(&planned, &wanted);
                prop_assert_eq!(planned.len() as u64, listed, "no page stands in two windows");
            }
            let firsts: Vec<_> = windows.iter().map(|w| w.iter().map(|piece| piece.at).min()).collect();
            prop_assert!(firsts.is_sorted());
        }
    }
}
