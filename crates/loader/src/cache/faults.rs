//! Faults that are visible in a cache alone: entries that a loader never uses.

use std::collections::{HashMap, HashSet};

use super::{CacheEntry, EntryHwcap, LdSoCache, Record, compare_names};

/// An entry that no lookup returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadowed<'a> {
    /// The entry.
    pub entry: CacheEntry<'a>,
    /// The entry that is returned instead.
    pub by: CacheEntry<'a>,
}

impl LdSoCache {
    /// Entries that the loader's binary search misses although their name is in the cache.
    pub fn order_faults(&self) -> impl Iterator<Item = CacheEntry<'_>> {
        let falls = |pair: &[Record]| match pair {
            [first, second] => compare_names(self.text(&first.name), self.text(&second.name), self.characters).is_ge(),
            _ => true,
        };
        // In a sorted cache, every entry is found.
        let is_sorted = self.records.windows(2).all(falls);
        let mut known: HashMap<(usize, u32), bool> = HashMap::new();
        let records = self.records.iter().filter(move |record| {
            !is_sorted && !*known.entry((record.name.start, record.flags)).or_insert_with(|| self.finds(record))
        });
        records.map(|record| self.entry(record))
    }

    /// Whether the binary search reaches any entry with a record's name and flags.
    fn finds(&self, wanted: &Record) -> bool {
        let name = self.text(&wanted.name);
        let is_wanted = |record: &Record| record.flags == wanted.flags && self.text(&record.name) == name;
        self.records_near(name).iter().any(is_wanted)
    }

    /// Shadowed entries: an earlier one always wins.
    ///
    /// Names that differ only in leading zeros of their numbers are equal to the loader: `liba01.so` also matches
    /// `liba1.so`.
    pub fn shadowed(&self) -> impl Iterator<Item = Shadowed<'_>> {
        let mut first: Vec<(Key, CacheEntry<'_>)> = Vec::new();
        let mut last_name: &[u8] = b"";
        self.entries().filter_map(move |entry| {
            if compare_names(last_name, entry.name, self.characters).is_ne() {
                first.clear();
            }
            last_name = entry.name;
            let key = Key { flags: entry.flags, level: self.level_of(&entry)? };
            if let Some((_, by)) = first.iter().find(|(other, _)| *other == key) {
                return Some(Shadowed { entry, by: *by });
            }
            // Hostile files may have any number of kinds under one name.
            if first.len() < 64 {
                first.push((key, entry));
            }
            None
        })
    }

    /// Entries for a level whose number has no name.
    pub fn level_faults(&self) -> impl Iterator<Item = CacheEntry<'_>> {
        let count = self.hwcaps().len();
        self.entries().filter(move |entry| match entry.required() {
            EntryHwcap::Level { index, .. } => usize::try_from(index).is_ok_and(|index| index >= count),
            EntryHwcap::Any | EntryHwcap::Bits(_) => false,
        })
    }

    /// Exact duplicates of an earlier entry.
    pub fn repeated(&self) -> impl Iterator<Item = CacheEntry<'_>> {
        let mut seen = HashSet::new();
        self.entries().filter(move |entry| !seen.insert((entry.name, entry.path, entry.flags, entry.hwcap)))
    }

    /// The level of an entry; none if the loader checks bits without a name.
    fn level_of(&self, entry: &CacheEntry<'_>) -> Option<Option<(u32, u32)>> {
        match entry.required() {
            EntryHwcap::Any => Some(None),
            EntryHwcap::Level { index, isa_level } => Some(Some((index, isa_level))),
            EntryHwcap::Bits(_) => None,
        }
    }
}

/// What distinguishes entries with the same name.
#[derive(PartialEq)]
struct Key {
    flags: u32,
    level: Option<(u32, u32)>,
}
