//! Which entries a start used, from the pages of the archive that it used.

use std::collections::HashMap;

use super::ZipArchive;

/// Bytes of a page of a trace.
const PAGE: usize = 4096;

/// The numbers of the entries that starts used, in the order of their first use. `starts` has the pages of each start in the order of their
/// first use. Of several starts, the smallest rank counts.
///
/// A page may hold many entries, so it is used for each of them. An entry that reaches over several pages is used only if a page was that has
/// nothing else; where it has none, both of its pages.
pub fn used_entries(archive: &ZipArchive<'_>, starts: &[Vec<u64>]) -> Vec<usize> {
    let mut ranks: Vec<Option<usize>> = vec![None; archive.entries().len()];
    for pages in starts {
        let mut first: HashMap<usize, usize> = HashMap::new();
        for (rank, page) in pages.iter().enumerate() {
            if let Ok(page) = usize::try_from(*page) {
                first.entry(page).or_insert(rank);
            }
        }
        for (entry, best) in archive.entries().iter().zip(&mut ranks) {
            let (start, end) = (entry.record.start, entry.record.end.max(entry.record.start.saturating_add(1)));
            let whole = start / PAGE..end.saturating_sub(1) / PAGE + 1;
            let own = start.div_ceil(PAGE)..end / PAGE;
            let rank = if whole.len() == 1 {
                first.get(&whole.start).copied()
            } else if own.is_empty() {
                whole
                    .map(|page| first.get(&page).copied())
                    .collect::<Option<Vec<_>>>()
                    .and_then(|ranks| ranks.into_iter().max())
            } else {
                earliest(&first, own)
            };
            *best = match (*best, rank) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
    }
    let mut used: Vec<(usize, usize, usize)> = Vec::new();
    for (number, (rank, entry)) in ranks.iter().zip(archive.entries()).enumerate() {
        used.extend(rank.map(|rank| (rank, entry.record.start, number)));
    }
    used.sort_unstable();
    used.into_iter().map(|(_, _, number)| number).collect()
}

/// The smallest rank of the pages of a range, by way of whichever is shorter.
fn earliest(first: &HashMap<usize, usize>, own: std::ops::Range<usize>) -> Option<usize> {
    if own.len() > first.len() {
        return first.iter().filter(|(page, _)| own.contains(page)).map(|(_, rank)| *rank).min();
    }
    own.filter_map(|page| first.get(&page).copied()).min()
}
