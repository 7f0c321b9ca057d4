//! Where each page of a regular file lies in the image.

use std::ops::Range;

use super::units::Unit;

/// Where the pages of a file lie: hot ones anywhere in the hot range, holes nowhere, and all others one after another.
///
/// 8 bytes of memory for each hot page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileMap {
    /// Number of pages.
    pub(crate) pages: u64,
    /// Whether the file has a table of chunks: it has hot pages, or holes.
    pub(crate) chunked: bool,
    /// A chunk has `1 << chunk_bits` pages; 0 where there are hot pages.
    pub(crate) chunk_bits: u32,
    /// Page and block of hot pages, by page.
    pub(crate) hot: Vec<(u32, u32)>,
    /// Pages without data, ascending, whole chunks (except at the end of the file), no hot ones among them.
    pub(crate) holes: Vec<Range<u64>>,
    /// Block of the first page that is neither hot nor in a hole.
    pub(crate) cold: u64,
    /// Of a compressed file: all its pages in units, by page. Blocks of it are meaningless then.
    pub(crate) units: Vec<Unit>,
}

/// Pages that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Pages of the file.
    pub(crate) pages: Range<u64>,
    /// Block of the first of them; `None` for a hole.
    pub(crate) block: Option<u64>,
}

impl FileMap {
    /// Where a table behind the inode ends, if the inode and its attributes end at `offset`.
    pub(crate) fn table_end(&self, offset: u64) -> u64 {
        match self.units.len() as u64 {
            0 => offset + 4 * self.chunks(),
            units => super::units::records_offset(offset) + super::units::RECORD * units,
        }
    }

    /// Number of entries of the table of chunks.
    pub(crate) fn chunks(&self) -> u64 {
        if self.chunked { self.pages.div_ceil(1 << self.chunk_bits) } else { 0 }
    }

    /// Number of pages that are neither hot nor in a hole.
    pub(crate) fn cold_pages(&self) -> u64 {
        let holes: u64 = self.holes.iter().map(|hole| hole.end - hole.start).sum();
        self.pages - holes - self.hot.len() as u64
    }

    /// All pages in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let (mut page, mut cold) = (0, self.cold);
        let mut hot = self.hot.iter().map(|&(page, block)| (u64::from(page), u64::from(block))).peekable();
        let mut holes = self.holes.iter().cloned().peekable();
        std::iter::from_fn(move || {
            if page >= self.pages {
                return None;
            }
            let start = page;
            let block = if let Some(hole) = holes.next_if(|hole| hole.start == page) {
                page = hole.end;
                None
            } else if let Some((_, block)) = hot.next_if(|(next, _)| *next == page) {
                page += 1;
                while hot.next_if(|next| *next == (page, block + (page - start))).is_some() {
                    page += 1;
                }
                Some(block)
            } else {
                let next_hot = hot.peek().map_or(self.pages, |(next, _)| *next);
                let next_hole = holes.peek().map_or(self.pages, |hole| hole.start);
                page = next_hot.min(next_hole).min(self.pages);
                let block = cold;
                cold += page - start;
                Some(block)
            };
            Some(Segment { pages: start..page, block })
        })
    }
}

/// Below this many pages of holes, a table of chunks is not worth it.
const FEWEST_HOLE_PAGES: u64 = 16;
/// Where only holes need a table of chunks, chunks grow until it has at most this many entries (1 MiB).
const MOST_HOLE_CHUNKS: u64 = 1 << 18;

/// The holes of a file in whole chunks, with the chunks' size, if leaving them out is worth it.
pub(super) fn holes_in_pages(holes: &[Range<u64>], size: u64, has_hot_pages: bool) -> (u32, Vec<Range<u64>>) {
    let pages = super::layout::blocks_of(size);
    let mut bits = 0;
    if !has_hot_pages {
        while pages >> bits > MOST_HOLE_CHUNKS && bits < 31 {
            bits += 1;
        }
    }
    let chunk = super::layout::BLOCK << bits;
    let per_chunk = 1 << bits;
    let whole: Vec<Range<u64>> = holes
        .iter()
        .map(|hole| {
            let end = if hole.end == size { pages } else { hole.end / chunk * per_chunk };
            hole.start.div_ceil(chunk) * per_chunk..end
        })
        .filter(|hole| hole.start < hole.end)
        .collect();
    let saved: u64 = whole.iter().map(|hole| hole.end - hole.start).sum();
    // A block saved against four bytes of table per chunk.
    let is_worth_it = has_hot_pages || (saved >= FEWEST_HOLE_PAGES && saved * 1024 > pages >> bits);
    if is_worth_it { (bits, whole) } else { (0, Vec::new()) }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of holes")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn holes_are_left_out_where_that_is_worth_it() {
        let holes = |holes: &[Range<u64>], size, hot| holes_in_pages(holes, size, hot);
        assert_eq!(holes(&[0..4096 * 15], 1 << 20, false), (0, vec![]));
        assert_eq!(holes(&[100..4096 * 18], 1 << 20, false), (0, vec![1..18]));
        // The last page is whole where the file ends with the hole.
        assert_eq!(holes(&[4096..(1 << 20) - 7], (1 << 20) - 7, true), (0, vec![1..256]));
        // A terabyte of nothing has a table of 1 MiB, not of 1 GiB.
        let (bits, found) = holes(&[4096..1 << 40], 1 << 40, false);
        assert_eq!((bits, found), (10, vec![1024..1 << 28]));
        // But pages that are hot have chunks of their own.
        assert_eq!(holes(&[4096..1 << 40], 1 << 40, true).0, 0);
    }

    proptest! {
        #[test]
        fn segments_cover_each_page_once(
            kinds in prop::collection::vec(0u8..3, 0..200), order in any::<u64>(), cold in 1000u64..2000,
        ) {
            let of = |kind| kinds.iter().enumerate().filter(move |(_, found)| **found == kind).map(|(page, _)| page as u32);
            let mut hot: Vec<(u32, u32)> = of(1).map(|page| (page, (page ^ (order as u32 & 7)) + 3)).collect();
            hot.sort_unstable();
            let mut holes: Vec<Range<u64>> = Vec::new();
            for page in of(2).map(u64::from) {
                match holes.last_mut() {
                    Some(last) if last.end == page => last.end += 1,
                    _ => holes.push(page..page + 1),
                }
            }
            let map = FileMap { pages: kinds.len() as u64, chunked: true, chunk_bits: 0, hot, holes, cold, units: vec![] };
            let (mut next, mut next_cold) = (0, cold);
            for segment in map.segments() {
                prop_assert_eq!(segment.pages.start, next);
                prop_assert!(segment.pages.end > next);
                for page in segment.pages.clone() {
                    let block = segment.block.map(|block| block + (page - segment.pages.start));
                    match kinds[page as usize] {
                        0 => { prop_assert_eq!(block, Some(next_cold)); next_cold += 1; }
                        1 => prop_assert_eq!(block, Some(u64::from((page as u32 ^ (order as u32 & 7)) + 3))),
                        _ => prop_assert_eq!(block, None),
                    }
                }
                next = segment.pages.end;
            }
            prop_assert_eq!(next, map.pages);
            prop_assert_eq!(next_cold - cold, map.cold_pages());
        }
    }
}
