//! Finding a name in a cache, as the loader does (`search_cache` in elf/dl-cache.c).

use std::cmp::Ordering;

use super::{CacheEntry, EntryHwcap, LdSoCache, Record, compare_names};

impl LdSoCache {
    /// The entry that the loader takes for `name`.
    ///
    /// `flags` are the marks that fit the program ([`Machine::cache_flags`](crate::Machine::cache_flags)). `levels` are
    /// the processor's, best first; an entry for a level beats the plain one. Entries with bits of the scheme before levels
    /// are passed over.
    pub fn lookup(&self, name: &[u8], flags: &[u32], levels: &[Vec<u8>]) -> Option<CacheEntry<'_>> {
        self.lookup_masked(name, flags, levels, levels)
    }

    /// The same where the loader was told to look at some `levels` only, on a processor that has those of `processor`:
    /// the name of an entry's subdirectory is held against the first, the level that its library's own note asks for against
    /// the second (`glibc_hwcaps_priority` and `dl_cache_hwcap_isa_level_compatible`).
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
                // Levels stand before the rest, so what was found by now is the answer.
                _ if best.is_some() => break,
                // No level that comes after it beats it.
                EntryHwcap::Any => best = Some((record, 0)),
                EntryHwcap::Bits(_) => {}
            }
        }
        best.map(|(record, _)| self.entry(record))
    }

    /// The run of entries with a name. In a cache that is not sorted it may be empty although the name is there:
    /// the loader would not find it either.
    fn records_named(&self, name: &[u8]) -> &[Record] {
        self.run(name, usize::MAX)
    }

    /// The run of entries with a name, or of a long run the part that the search comes to first: files may be hostile.
    pub(super) fn records_near(&self, name: &[u8]) -> &[Record] {
        self.run(name, 256)
    }

    /// The run of entries with a name, at most `most` to either side of the one that the search comes to.
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

/// Whether the processor has the level that a library's own note asks for; the baseline is always there.
fn has_isa_level(isa_level: u32, levels: &[Vec<u8>]) -> bool {
    isa_level == 0 || levels.contains(&format!("x86-64-v{}", u64::from(isa_level) + 1).into_bytes())
}
