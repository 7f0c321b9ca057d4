//! One address space: from addresses to files.
//!
//! What a newcomer would not guess: the kernel reports mappings, never unmappings. So a range is valid until another
//! one replaces it, and a change of protection is reported as another mapping of the same range (`mprotect_fixup` in
//! `mm/mprotect.c` calls `perf_event_mmap`).

use std::collections::{BTreeMap, HashMap};

use coldstart_profile::trace::FileId;

use super::placement::PlacementId;

/// A range of addresses with one kind of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// First byte.
    pub(super) start: u64,
    /// First byte after it.
    pub(super) end: u64,
    /// The contents.
    pub(super) held: Held,
    /// Whether instructions may be fetched from it.
    pub(super) executable: bool,
}

/// The contents of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Memory without a file; `of` is the object that it may be the zero-filled end of.
    Anonymous {
        /// The object that was mapped right before it.
        of: Option<PlacementId>,
    },
    /// A file's pages.
    File {
        /// The file.
        file: FileId,
        /// The placement.
        placement: PlacementId,
        /// File offset of the range's first byte.
        offset: u64,
    },
}

impl Range {
    /// The file offset of an address in this range.
    pub(super) fn file_offset(&self, address: u64) -> Option<u64> {
        match self.held {
            Held::File { offset, .. } => offset.checked_add(address.checked_sub(self.start)?),
            Held::Anonymous { .. } => None,
        }
    }

    /// The part of it from an address on.
    fn from(self, address: u64) -> Self {
        let inside = address.saturating_sub(self.start);
        let held = match self.held {
            Held::File { file, placement, offset } => {
                Held::File { file, placement, offset: offset.saturating_add(inside) }
            }
            anonymous @ Held::Anonymous { .. } => anonymous,
        };
        Self { start: address, held, ..self }
    }
}

/// The mappings of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// By first byte; ranges do not overlap.
    ranges: BTreeMap<u64, Range>,
    /// The last range of each file.
    pub(super) latest: HashMap<FileId, PlacementId>,
    /// The object that the last mapping belongs to.
    pub(super) last: Option<PlacementId>,
}

impl Space {
    /// The range at an address.
    pub(super) fn at(&self, address: u64) -> Option<&Range> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        (address < range.end).then_some(range)
    }

    /// The range that ends where this address begins.
    pub(super) fn before(&self, address: u64) -> Option<&Range> {
        let (_, range) = self.ranges.range(..address).next_back()?;
        (range.end == address).then_some(range)
    }

    /// Replaces a range; an empty one changes nothing.
    pub(super) fn lay(&mut self, range: Range) {
        if range.end <= range.start {
            return;
        }
        let below = self.ranges.range_mut(..range.start).next_back().map(|(_, below)| below);
        if let Some(below) = below
            && below.end > range.start
        {
            let whole = *below;
            below.end = range.start;
            if whole.end > range.end {
                self.ranges.insert(range.end, whole.from(range.end));
            }
        }
        while let Some((&start, &covered)) = self.ranges.range(range.start..range.end).next() {
            self.ranges.remove(&start);
            if covered.end > range.end {
                self.ranges.insert(range.end, covered.from(range.end));
            }
        }
        self.ranges.insert(range.start, range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(start: u64, end: u64, offset: u64) -> Range {
        let held = Held::File { file: FileId(0), placement: PlacementId(0), offset };
        Range { start, end, held, executable: false }
    }

    fn anonymous(start: u64, end: u64) -> Range {
        Range { start, end, held: Held::Anonymous { of: None }, executable: false }
    }

    #[test]
    fn a_range_in_the_middle_splits_what_was_there() {
        let mut space = Space::default();
        space.lay(file(0x1000, 0x9000, 0x4000));
        space.lay(anonymous(0x3000, 0x5000));
        assert_eq!(space.at(0x2fff).and_then(|range| range.file_offset(0x2fff)), Some(0x5fff));
        assert_eq!(space.at(0x3000).map(|range| range.held), Some(Held::Anonymous { of: None }));
        assert_eq!(space.at(0x5000).and_then(|range| range.file_offset(0x5000)), Some(0x8000));
        assert_eq!(space.at(0x9000), None);
        assert_eq!(space.at(0xfff), None);
        assert_eq!(space.before(0x9000).map(|range| range.start), Some(0x5000));
    }

    #[test]
    fn ranges_at_the_end_of_memory_and_empty_ones_do_no_harm() {
        let mut space = Space::default();
        space.lay(file(u64::MAX - 10, u64::MAX, u64::MAX - 4));
        space.lay(file(5, 5, 0));
        assert_eq!(space.at(5), None);
        assert_eq!(space.at(u64::MAX - 1).and_then(|range| range.file_offset(u64::MAX - 1)), None);
        space.lay(anonymous(u64::MAX - 5, u64::MAX));
        assert!(space.at(u64::MAX - 6).is_some());
    }

    proptest! {
        /// Against a map that names each byte by itself.
        #[test]
        fn agrees_with_a_byte_by_byte_map(ranges in proptest::collection::vec((0_u64..200, 0_u64..60, 0_u64..1000), 0..40)) {
            let mut space = Space::default();
            let mut bytes = [None; 300];
            for &(start, length, offset) in &ranges {
                space.lay(file(start, start + length, offset));
                for inside in 0..length {
                    if let Some(byte) = bytes.get_mut((start + inside) as usize) {
                        *byte = Some(offset + inside);
                    }
                }
            }
            for (address, &expected) in bytes.iter().enumerate() {
                let address = address as u64;
                prop_assert_eq!(space.at(address).and_then(|range| range.file_offset(address)), expected);
            }
        }
    }
}
