//! Finding a name in a cache, as the loader does (`search_cache` in elf/dl-cache.c).

use std::cmp::Ordering;

use super::{CacheEntry, EntryHwcap, LdSoCache, Record, compare_names};

impl LdSoCache {
    /// The entry that the loader uses for `name`.
    ///
    /// `flags` are the entry flags that match the program ([`Machine::cache_flags`](crate::Machine::cache_flags)).
    /// `levels` are the processor's, best first; an entry for a level is preferred over the plain one. Entries with
    /// bits of the scheme before levels are skipped.
    pub fn lookup(&self, name: &[u8], flags: &[u32], levels: &[Vec<u8>]) -> Option<CacheEntry<'_>> {
        self.lookup_masked(name, flags, levels, levels)
    }

    /// Like [`Self::lookup`], for a loader restricted to some `levels` on a processor that supports those of
    /// `processor`. An entry's subdirectory name is checked against the first, the level that the library's own note
    /// requires against the second (`glibc_hwcaps_priority` and `dl_cache_hwcap_isa_level_compatible`).
    pub fn lookup_masked(
        &self,
        name: &[u8],
        flags: &[u32],
        levels: &[Vec<u8>],
        processor: &[Vec<u8>],
    ) -> Option<CacheEntry<'_>> {
        let records = self.records_named(name);
        let mut best: Option<(&Record, usize)> = None;
        for record in records.iter().filter(|record| flags.contains(&record.flags)) {
            match self.entry(record).required() {
                EntryHwcap::Level { index, isa_level } => {
                    let priority = self.priority(index, levels);
                    let Some(priority) = priority.filter(|_| has_isa_level(isa_level, processor)) else { continue };
                    if best.is_none_or(|(_, other)| priority < other) {
                        best = Some((record, priority));
                    }
                }
                // Levels come before the rest, so the result is final here.
                _ if best.is_some() => break,
                // Later levels are not better.
                EntryHwcap::Any => best = Some((record, 0)),
                EntryHwcap::Bits(_) => {}
            }
        }
        best.map(|(record, _)| self.entry(record))
    }

    /// The entries with a name. In an unsorted cache the result may be empty although the name exists: the loader
    /// would miss it, too.
    fn records_named(&self, name: &[u8]) -> &[Record] {
        self.run(name, usize::MAX)
    }

    /// The entries with a name; only a part of a very long run, since files may be hostile.
    pub(super) fn records_near(&self, name: &[u8]) -> &[Record] {
        self.run(name, 256)
    }

    /// The entries with a name, at most `most` to either side of the first match of the binary search.
    fn run(&self, name: &[u8], most: usize) -> &[Record] {
        let compare = |record: &Record| compare_names(name, self.entry(record).name, self.characters);
        let (mut left, mut right) = (0, self.records.len());
        while left < right {
            // The loader's bounds are inclusive: this is its middle.
            let middle = (left + right - 1) / 2;
            let Some(record) = self.records.get(middle) else { break };
            match compare(record) {
                Ordering::Less => left = middle + 1,
                Ordering::Greater => right = middle,
                Ordering::Equal => {
                    let before = self.records.get(..middle).unwrap_or_default();
                    let after = self.records.get(middle..right).unwrap_or_default();
                    let same = |record: &&Record| compare(record) == Ordering::Equal;
                    let first = middle - before.iter().rev().take(most).take_while(same).count();
                    let end = middle + after.iter().take(most).take_while(same).count();
                    return self.records.get(first..end).unwrap_or_default();
                }
            }
        }
        &[]
    }

    /// The rank of a level in the processor's list.
    fn priority(&self, index: u32, levels: &[Vec<u8>]) -> Option<usize> {
        let name = self.text(self.hwcaps.get(usize::try_from(index).ok()?)?);
        levels.iter().position(|level| level == name)
    }
}

/// Whether the processor supports the level that a library's own note requires; the baseline is always supported.
fn has_isa_level(isa_level: u32, levels: &[Vec<u8>]) -> bool {
    isa_level == 0 || levels.contains(&format!("x86-64-v{}", u64::from(isa_level) + 1).into_bytes())
}
