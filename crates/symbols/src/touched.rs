//! The parts of an object that a start used; only those are named.

use std::collections::BTreeSet;

use coldstart_elf::{ElfFile, Segment};

/// Bytes of a page, as traces count them.
pub(super) const PAGE: u64 = 4096;

/// Touched pages of an object, and addresses in it that occur in events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedPages {
    file_pages: BTreeSet<u64>,
    zero_filled_pages: BTreeSet<u64>,
    code: BTreeSet<u64>,
    instructions: BTreeSet<u64>,
}

impl TouchedPages {
    /// Nothing was touched.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a touched page of the file, whose symbols are to be named: file offset / 4096.
    pub fn add_file_page(&mut self, page: u64) {
        self.file_pages.insert(page);
    }

    /// Records a touched page of zero-filled memory: address without load bias / 4096.
    pub fn add_zero_filled_page(&mut self, page: u64) {
        self.zero_filled_pages.insert(page);
    }

    /// Records an instruction to be named: its address without load bias.
    pub fn add_code(&mut self, address: u64) {
        self.code.insert(address);
    }

    /// Records an instruction to be named: its file offset, in bytes.
    pub fn add_instruction(&mut self, file_offset: u64) {
        self.instructions.insert(file_offset);
    }

    /// Whether nothing was touched.
    pub fn is_empty(&self) -> bool {
        let Self { file_pages, zero_filled_pages, code, instructions } = self;
        [file_pages, zero_filled_pages, code, instructions].iter().all(|set| set.is_empty())
    }

    /// Addresses of the instructions that have to be named, ascending.
    pub(super) fn code_addresses(&self, file: &ElfFile<'_>) -> Vec<u64> {
        let executable: Vec<&Segment> = file.load_segments().filter(|segment| segment.is_executable()).collect();
        let address = |offset: &u64| {
            executable.iter().find_map(|segment| {
                let inside = offset.checked_sub(segment.offset.0)?;
                (inside < segment.file_size).then(|| segment.address.0.checked_add(inside))?
            })
        };
        let mut addresses: Vec<u64> = self.instructions.iter().filter_map(address).collect();
        addresses.extend(&self.code);
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// The touched addresses, including instructions (`code`). A file page shared by two segments (the end of one and
    /// the beginning of the next) counts for both, because it is unknown which of them was touched.
    pub(super) fn ranges(&self, file: &ElfFile<'_>, code: &[u64]) -> TouchedRanges {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for segment in file.load_segments() {
            let (from, to) = file_extent(segment);
            for page in self.file_pages.range(from / PAGE..to.div_ceil(PAGE)) {
                let first = page.saturating_mul(PAGE).max(from);
                let last = page.saturating_add(1).saturating_mul(PAGE).min(to);
                let address = |offset: u64| segment.address.0.saturating_add(offset.saturating_sub(from));
                ranges.push((address(first), address(last)));
            }
        }
        let page_at = |page: &u64| (page.saturating_mul(PAGE), page.saturating_add(1).saturating_mul(PAGE));
        ranges.extend(self.zero_filled_pages.iter().map(page_at));
        ranges.extend(code.iter().map(|address| (*address, address.saturating_add(1))));
        TouchedRanges::new(ranges)
    }
}

/// Offsets of the file whose pages a segment shows. The zeros after its file part begin in the last of these pages,
/// which is still a page of the file.
fn file_extent(segment: &Segment) -> (u64, u64) {
    let from = segment.offset.0;
    if segment.file_size == 0 {
        return (from, from);
    }
    let memory_end = from.saturating_add(segment.memory_size);
    let file_end = from.saturating_add(segment.file_size);
    (from, file_end.checked_next_multiple_of(PAGE).unwrap_or(file_end).min(memory_end.max(file_end)))
}

/// Addresses as ranges, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TouchedRanges {
    ranges: Vec<(u64, u64)>,
}

impl TouchedRanges {
    fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.retain(|(from, to)| from < to);
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Self { ranges: merged }
    }

    /// Whether any byte of `size` bytes at `address` is in them; a size of 0 counts as 1.
    pub(super) fn overlap(&self, address: u64, size: u64) -> bool {
        let end = address.saturating_add(size.max(1));
        let behind = self.ranges.partition_point(|(_, to)| *to <= address);
        self.ranges.get(behind).is_some_and(|(from, _)| *from < end)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::TouchedRanges;

    #[test]
    fn ranges_are_merged_and_found() {
        let ranges = TouchedRanges::new(vec![(8, 12), (0, 4), (3, 6), (9, 9)]);
        assert_eq!(ranges.ranges, [(0, 6), (8, 12)]);
        for (address, size, expected) in [(5, 1, true), (6, 2, false), (6, 3, true), (11, 0, true), (12, 9, false)] {
            assert_eq!(ranges.overlap(address, size), expected, "{size} bytes at {address}");
        }
        assert!(!ranges.overlap(u64::MAX, u64::MAX));
    }
}
