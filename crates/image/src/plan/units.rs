//! Files whose pages are compressed: which pages form a unit.
//!
//! Not obvious: a unit is a run of hot pages, never more, so that a compressed image keeps the exact order of the start. That costs little:
//! the units of a LibreOffice start have 2 pages in the middle and take 36 % of their size, the whole hot range as one stream takes 33 %. It needs an EROFS
//! that lets compressed data begin at any byte (Linux 6.15): with whole blocks for each unit it would be 61 %.

use std::ops::Range;

/// Pages of the largest unit: 128 KiB. A touch of any of its pages reads and unpacks the whole unit.
pub(crate) const MOST_UNIT_PAGES: u32 = 32;
/// Pages of the largest file that is compressed: records have 32 bits for offsets in the file.
pub(crate) const MOST_PAGES: u64 = 1 << 20;
/// Size of the compressor's parameters behind the superblock.
pub(crate) const PARAMETERS_SIZE: u64 = 8;
/// Size of a unit's record in the table behind the inode (`struct z_erofs_extent`, without its last fields).
pub(crate) const RECORD: u64 = 16;

/// How the files with hot pages are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// Each run of hot pages as a frame of zstd, and the other pages in frames of 128 KiB. Needs Linux 6.15.
    Zstd,
}

/// Pages of one file that are stored together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) pages: Range<u32>,
    pub(crate) kind: UnitKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Hot,
    Cold,
    Hole,
}

/// Where the table's header lies if the inode and its attributes end at `offset` (`Z_EROFS_MAP_HEADER_START`).
pub(crate) fn header_offset(offset: u64) -> u64 {
    offset.next_multiple_of(8)
}

/// Where the table's records lie.
pub(crate) fn records_offset(offset: u64) -> u64 {
    (header_offset(offset) + 8).next_multiple_of(RECORD)
}

/// A run of pages in units.
pub(crate) fn split(run: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let end = run.end;
    run.step_by(MOST_UNIT_PAGES as usize).map(move |start| start..(start + MOST_UNIT_PAGES).min(end))
}

/// All pages of a file in units, by page. Hot runs and holes have no page in common; the file has at most [`MOST_PAGES`] pages.
pub(super) fn units_of(pages: u64, hot: Vec<(u32, u32)>, holes: &[Range<u64>]) -> Vec<Unit> {
    let hot = hot.into_iter().map(|(start, count)| (start..start + count, UnitKind::Hot));
    let holes = holes.iter().map(|hole| (hole.start as u32..hole.end as u32, UnitKind::Hole));
    let mut taken: Vec<(Range<u32>, UnitKind)> = hot.chain(holes).collect();
    taken.sort_by_key(|(run, _)| run.start);
    let mut units = Vec::new();
    let mut next = 0;
    let end = pages as u32;
    for (run, kind) in taken.into_iter().chain([(end..end, UnitKind::Hole)]) {
        units.extend(split(next..run.start).map(|pages| Unit { pages, kind: UnitKind::Cold }));
        next = run.end;
        match kind {
            UnitKind::Hole if run.is_empty() => {}
            UnitKind::Hole => units.push(Unit { pages: run, kind }),
            _ => units.extend(split(run).map(|pages| Unit { pages, kind })),
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "a list of holes")]
    fn units_cover_each_page_once() {
        let units = units_of(100, vec![(50, 40), (3, 1), (0, 2)], &[10..45]);
        let found: Vec<(u32, u32, UnitKind)> =
            units.iter().map(|unit| (unit.pages.start, unit.pages.end, unit.kind)).collect();
        use UnitKind::{Cold, Hole, Hot};
        let expected = [
            (0, 2, Hot),
            (2, 3, Cold),
            (3, 4, Hot),
            (4, 10, Cold),
            (10, 45, Hole),
            (45, 50, Cold),
            (50, 82, Hot),
            (82, 90, Hot),
            (90, 100, Cold),
        ];
        assert_eq!(found, expected);
    }
}
