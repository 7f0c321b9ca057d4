//! Which parts of a file a start used, from the pages of the file that it used.

use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a page of a trace.
const PAGE: usize = 4096;

/// The numbers of the parts (ranges of bytes) that starts used, in the order of their first use. `starts` has the pages of each start in the
/// order of their first use. Of several starts, the smallest rank counts.
///
/// A page may hold many parts, so it is used for each of them. A part that reaches over several pages is used only if a page was that has
/// nothing else; where it has none, both of its pages.
pub(crate) fn used_parts<'a>(parts: impl Iterator<Item = &'a Range<usize>> + Clone, starts: &[Vec<u64>]) -> Vec<usize> {
    let mut ranks: Vec<Option<usize>> = vec![None; parts.clone().count()];
    for pages in starts {
        let mut first: HashMap<usize, usize> = HashMap::new();
        for (rank, page) in pages.iter().enumerate() {
            if let Ok(page) = usize::try_from(*page) {
                first.entry(page).or_insert(rank);
            }
        }
        for (part, best) in parts.clone().zip(&mut ranks) {
            let (start, end) = (part.start, part.end.max(part.start.saturating_add(1)));
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
    for (number, (rank, part)) in ranks.iter().zip(parts).enumerate() {
        used.extend(rank.map(|rank| (rank, part.start, number)));
    }
    used.sort_unstable();
    used.into_iter().map(|(_, _, number)| number).collect()
}

/// The smallest rank of the pages of a range, by way of whichever is shorter.
fn earliest(first: &HashMap<usize, usize>, own: Range<usize>) -> Option<usize> {
    if own.len() > first.len() {
        return first.iter().filter(|(page, _)| own.contains(page)).map(|(_, rank)| *rank).min();
    }
    own.filter_map(|page| first.get(&page).copied()).min()
}
