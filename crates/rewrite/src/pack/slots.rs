//! Finds entries in the dynamic table for `DT_RELR`, `DT_RELRSZ` and `DT_RELRENT`.
//!
//! The table cannot grow, because the data after it cannot move. GNU ld, gold and mold leave spare entries; lld
//! leaves one at most, so redundant entries are reused.

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, Tag, Vaddr};

use super::decision::SlotSource;
use super::empty_function::{does_nothing, only_starts_profiling};
use super::relatives::TableTags;
use crate::refusal::Refusal;

/// `DF_ORIGIN`, `DF_SYMBOLIC`, `DF_BIND_NOW` and the equivalent bits of `DT_FLAGS_1` (gABI, "Dynamic Section").
const ORIGIN: u64 = 1;
const SYMBOLIC: u64 = 2;
const BIND_NOW: u64 = 8;
const ORIGIN_1: u64 = 0x80;
const NOW_1: u64 = 1;

/// The entries of the new table without the final ones, and the replaced entries.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) entries: Vec<DynamicEntry>,
    pub(super) freed: Vec<SlotSource>,
}

/// The changes in the dynamic table other than addresses.
pub(super) struct Wanted<'a> {
    pub(super) relocations: &'a TableTags,
    /// Number of leading relative relocations that remain.
    pub(super) leading: u64,
    /// Whether the table becomes empty.
    pub(super) is_empty: bool,
    pub(super) new: Vec<DynamicEntry>,
    pub(super) drop_syment: bool,
}

/// Finds entries for the new tags.
pub(super) fn make_room(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    wanted: &Wanted<'_>,
) -> Result<Entries, Refusal> {
    let mut entries: Vec<DynamicEntry> = dynamic.entries().collect();
    let mut freed = Vec::new();
    let tags = wanted.relocations;
    if wanted.leading == 0 {
        remove(&mut entries, &mut freed, SlotSource::RelativeCount, |entry| entry.tag == tags.relative_count);
    }
    if wanted.is_empty {
        let of_table = [tags.address, tags.size, tags.entry_size];
        remove(&mut entries, &mut freed, SlotSource::EmptyTable, |entry| of_table.contains(&entry.tag));
    }
    // Numbers of entries in memory, here and below: none is beyond the largest, and none missing is 0.
    let capacity = dynamic.len().wrapping_add(dynamic.spare_entries());
    let needed = wanted.new.len();
    let missing = |entries: &[DynamicEntry]| entries.len().wrapping_add(needed).saturating_sub(capacity);
    if missing(&entries) > 0 {
        let redundant = redundant_flags(dynamic);
        remove(&mut entries, &mut freed, SlotSource::RedundantFlags, |entry| redundant.contains(&entry.tag));
    }
    if missing(&entries) > 0 && dynamic.get(Tag::RUNPATH).is_some() {
        remove(&mut entries, &mut freed, SlotSource::IgnoredRpath, |entry| entry.tag == Tag::RPATH);
    }
    for tag in [Tag::FINI, Tag::INIT] {
        if missing(&entries) > 0 {
            let is_empty = |entry: &DynamicEntry| entry.tag == tag && does_nothing(file, Vaddr(entry.value));
            remove(&mut entries, &mut freed, SlotSource::EmptyFunction, is_empty);
        }
    }
    if missing(&entries) > 0 {
        let starts =
            |entry: &DynamicEntry| entry.tag == Tag::INIT && only_starts_profiling(file, dynamic, Vaddr(entry.value));
        remove(&mut entries, &mut freed, SlotSource::ProfilingOnly, starts);
    }
    if missing(&entries) > 0 && wanted.drop_syment {
        remove(&mut entries, &mut freed, SlotSource::SymbolEntrySize, |entry| entry.tag == Tag::SYMENT);
    }
    match missing(&entries) {
        0 => {
            freed.resize(needed.max(freed.len()), SlotSource::Spare);
            entries.extend(wanted.new.iter().copied());
            Ok(Entries { entries, freed })
        }
        missing => Err(Refusal::NoDynamicSlot { needed, found: needed.saturating_sub(missing) }),
    }
}

fn remove(
    entries: &mut Vec<DynamicEntry>,
    freed: &mut Vec<SlotSource>,
    source: SlotSource,
    is_superfluous: impl Fn(&DynamicEntry) -> bool,
) {
    entries.retain(|entry| {
        let stays = !is_superfluous(entry);
        if !stays {
            freed.push(source);
        }
        stays
    });
}

/// Entries that another entry duplicates completely.
fn redundant_flags(dynamic: &DynamicTable<'_>) -> Vec<Tag> {
    let mut redundant = Vec::new();
    let flags_1 = dynamic.flags_1();
    let mut said = 0;
    if flags_1 & NOW_1 != 0 {
        said |= BIND_NOW;
    }
    if flags_1 & ORIGIN_1 != 0 {
        said |= ORIGIN;
    }
    if dynamic.get(Tag::SYMBOLIC).is_some() {
        said |= SYMBOLIC;
    }
    let goes = dynamic.get(Tag::FLAGS).is_some_and(|flags| flags & !said == 0);
    if goes {
        redundant.push(Tag::FLAGS);
    }
    // Of two duplicates, one stays.
    let stays = if goes { 0 } else { dynamic.flags() };
    if flags_1 & NOW_1 != 0 || stays & BIND_NOW != 0 {
        redundant.push(Tag::BIND_NOW);
    }
    if stays & SYMBOLIC != 0 {
        redundant.push(Tag::SYMBOLIC);
    }
    redundant
}
