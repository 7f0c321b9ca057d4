//! The pages that relocation reads and makes private, and the adjacency of relocated words.

use coldstart_elf::{SegmentKind, Vaddr};
use serde::Serialize;

use crate::file_pages::{PAGE, distinct_units, page_of};
use crate::object::Object;

/// Pages of memory, of 4 KiB, that become private to each process because relocation writes to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DirtiedPages {
    /// Their number.
    pub pages: u64,
    /// Their size in bytes: private memory of each process.
    pub bytes: u64,
    /// Those that are read-only afterwards.
    pub relro_pages: u64,
    /// Pages that only relative relocations write to.
    pub relative_only_pages: u64,
    /// File-backed pages of writable segments, for comparison.
    pub writable_file_pages: u64,
}

/// The adjacency of relocated words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Runs {
    /// Words directly after the one of the previous record, in table order.
    pub adjacent_in_table: u64,
    /// Runs of adjacent words, in address order.
    pub runs: u64,
    /// Words in the longest run.
    pub longest_run: u64,
}

pub(super) fn dirtied(object: &Object<'_>) -> DirtiedPages {
    let relro = object.file.segment(SegmentKind::Relro);
    let mut dirtied = DirtiedPages::default();
    let mut current: Option<(u64, bool)> = None;
    let mut finish = |page: Option<(u64, bool)>| {
        let Some((page, is_relative_only)) = page else { return };
        dirtied.pages += 1;
        dirtied.relative_only_pages += u64::from(is_relative_only);
        let is_relro = relro.is_some_and(|relro| relro.contains(Vaddr(page * PAGE).max(relro.address)));
        dirtied.relro_pages += u64::from(is_relro);
    };
    for slot in object.slots.iter() {
        let page = page_of(slot.address.0);
        let is_relative = matches!(slot.target, crate::slots::Target::Address(_));
        match &mut current {
            Some((last, only)) if *last == page => *only &= is_relative,
            _ => finish(current.replace((page, is_relative))),
        }
    }
    finish(current);
    dirtied.bytes = dirtied.pages * PAGE;
    let writable = object.file.load_segments().filter(|segment| segment.is_writable());
    let writable = writable.map(|segment| segment.address.0..segment.file_end().0);
    dirtied.writable_file_pages = distinct_units(&writable.collect::<Vec<_>>(), PAGE);
    dirtied
}

pub(super) fn runs(object: &Object<'_>) -> Runs {
    let word = object.file.encoding().word_size();
    let mut runs = Runs::default();
    for table in object.relocations.all_tables() {
        let mut last = None;
        table.for_each(|relocation| {
            runs.adjacent_in_table += u64::from(last == relocation.offset.0.checked_sub(word) && last.is_some());
            last = Some(relocation.offset.0);
        });
    }
    let (mut last, mut length) = (None, 0);
    for address in object.slots.iter().map(|slot| slot.address.0) {
        if last.is_some() && last == address.checked_sub(word) {
            length += 1;
        } else {
            runs.runs += 1;
            length = 1;
        }
        runs.longest_run = runs.longest_run.max(length);
        last = Some(address);
    }
    runs
}

/// Distinct file pages with relocation tables.
pub(super) fn of_tables(object: &Object<'_>) -> u64 {
    let relocations = &object.relocations;
    let tables = relocations.all_tables().map(|table| (table.file_offset().0, table.size()));
    let packed = relocations.relr.iter().map(|relr| (relr.file_offset().0, relr.size()));
    let android = relocations.android.iter().map(|table| (table.file_offset().0, table.size()));
    let ranges = tables.chain(packed).chain(android).map(|(offset, size)| offset..offset.saturating_add(size));
    distinct_units(&ranges.collect::<Vec<_>>(), PAGE)
}
