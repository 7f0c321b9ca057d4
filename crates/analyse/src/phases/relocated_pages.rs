//! Which pages of an object its relocation touches, and nothing else that the loader does before it.

use std::collections::HashMap;

use coldstart_profile::trace::{FileId, ObjectSection, TracedObject};

use super::super::loads::offset_of;

/// Sections that the loader reads while it maps libraries; a page that a relocation table shares with them says nothing.
const READ_BEFORE: [&str; 4] = [".dynamic", ".gnu.version", ".gnu.version_d", ".gnu.version_r"];

/// The pages of one object, by place in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    tables: Ranges,
    written: Ranges,
}

impl Pages {
    /// Whether a page holds entries of a relocation table.
    pub(super) fn table(&self, page: u64) -> bool {
        self.tables.contains(page)
    }

    /// Whether a page holds words that relocations change.
    pub(super) fn written(&self, page: u64) -> bool {
        self.written.contains(page)
    }
}

/// All objects'.
pub(super) struct RelocatedPages(HashMap<FileId, Pages>);

impl RelocatedPages {
    pub(super) fn new(objects: &[&TracedObject]) -> Self {
        Self(objects.iter().map(|object| (object.file, pages(object))).collect())
    }

    pub(super) fn get(&self, file: FileId) -> Option<&Pages> {
        self.0.get(&file)
    }
}

/// The page in which a writable segment's bytes from the file end, and zero-filled memory begins; `None` if they end with a page.
pub(super) fn zeroed_page(segment: &coldstart_profile::trace::ObjectSegment) -> Option<u64> {
    let writable = segment.flags & 2 != 0;
    let end = segment.offset.checked_add(segment.file_size)?;
    (writable && segment.file_size > 0 && segment.memory_size > segment.file_size && end & 0xfff != 0)
        .then_some(end >> 12)
}

fn pages(object: &TracedObject) -> Pages {
    let loaded = object.sections.iter().filter(|section| !section.is_zero_filled && section.size > 0);
    let (before, others): (Vec<&ObjectSection>, Vec<&ObjectSection>) =
        loaded.partition(|section| READ_BEFORE.contains(&section.name.as_str()));
    let is_table = |section: &&ObjectSection| {
        let named = [".rel.", ".rela.", ".relr."].iter().any(|prefix| section.name.starts_with(prefix));
        named || object.relocations.iter().any(|run| run.table == section.name)
    };
    let pages_of = |section: &ObjectSection| {
        (section.offset >> 12, section.offset.saturating_add(section.size.saturating_sub(1)) >> 12)
    };
    let mut said: Vec<(u64, u64)> = before.iter().map(|section| pages_of(section)).collect();
    let tables = Ranges::new(others.into_iter().filter(is_table).map(pages_of).collect()).without(&said);
    said.extend(object.segments.iter().filter_map(zeroed_page).map(|page| (page, page)));
    let written = object.relocations.iter().filter_map(|run| {
        let from = offset_of(object, run.from)?;
        let to = offset_of(object, run.to).filter(|&to| to >= from).unwrap_or(from);
        Some((from >> 12, to >> 12))
    });
    Pages { tables, written: Ranges::new(written.collect()).without(&said) }
}

/// Pages as ranges: first and last, ascending, apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    fn without(self, others: &[(u64, u64)]) -> Self {
        let mut left = self.0;
        for &(first, last) in others {
            let mut rest = Vec::new();
            for (from, to) in left {
                if to < first || from > last {
                    rest.push((from, to));
                    continue;
                }
                if from < first {
                    rest.push((from, first.saturating_sub(1)));
                }
                if to > last {
                    rest.push((last.saturating_add(1), to));
                }
            }
            left = rest;
        }
        Self(left)
    }

    fn contains(&self, page: u64) -> bool {
        let behind = self.0.partition_point(|&(first, _)| first <= page);
        self.0.get(behind.wrapping_sub(1)).is_some_and(|&(_, last)| page <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_lose_what_is_said() {
        let ranges = Ranges::new(vec![(5, 9), (0, 2), (3, 3), (20, 20)]);
        assert_eq!(ranges.0, [(0, 3), (5, 9), (20, 20)]);
        let ranges = ranges.without(&[(0, 0), (6, 7), (20, 20)]);
        assert_eq!(ranges.0, [(1, 3), (5, 5), (8, 9)]);
        let held: Vec<u64> = (0..25).filter(|&page| ranges.contains(page)).collect();
        assert_eq!(held, [1, 2, 3, 5, 8, 9]);
    }
}
