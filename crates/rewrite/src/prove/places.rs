//! Which memory only loaders read: the places that may change, found from each file's own facts.

use std::ops::Range;

use super::image::{Image, PT_GNU_PROPERTY, PT_INTERP, PT_NOTE, Section};
use super::tables::Tables;

/// The places of a file whose bytes are compared by what they mean.
#[derive(Debug)]
pub(super) struct Places {
    /// Headers, tables, path of the loader, notes and dynamic table, as ranges that do not touch, in order.
    pub(super) named: Vec<Range<u64>>,
    /// The same with the padding behind them.
    pub(super) exempt: Vec<Range<u64>>,
}

impl Places {
    pub(super) fn find(image: &Image<'_>, tables: &Tables<'_>) -> Self {
        let mut named: Vec<Range<u64>> = tables.list.iter().map(|table| table.memory.clone()).collect();
        if let Some(load) = image.loads().find(|load| load.offset == 0) {
            named.push(load.address..load.address.saturating_add(u64::from(image.header.header_size)));
        }
        named.extend(image.program_header_table());
        named.extend(small_segments(image));
        named.push(image.dynamic.memory.clone());
        let named = joined(named);
        let mut exempt = named.clone();
        exempt.extend(padding(image, &named));
        Self { named, exempt: joined(exempt) }
    }
}

/// What `PT_INTERP` and notes cover.
fn small_segments(image: &Image<'_>) -> impl Iterator<Item = Range<u64>> {
    let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
    image.segments.iter().filter(move |segment| kinds.contains(&segment.kind)).map(|segment| segment.backed())
}

/// Sorted, without empty ranges; those that touch as one.
pub(super) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What of a range is in none of the others, which are joined.
pub(super) fn without(range: &Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    let first = others.partition_point(|other| other.end <= range.start);
    for other in others.get(first..).unwrap_or(&[]).iter().take_while(|other| other.start < range.end) {
        if at < other.start {
            left.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        left.push(at..range.end);
    }
    left
}

/// What linkers leave between tables, and what patchelf writes over those that it has moved away.
const FILLERS: [u8; 2] = [0, b'X'];

/// Fillers behind a table that belong to no section, up to the next section or table. Without section headers, only as
/// many as aligning the next table takes.
fn padding(image: &Image<'_>, named: &[Range<u64>]) -> Vec<Range<u64>> {
    // .tbss takes no room at its address.
    let takes_room =
        |section: &&Section<'_>| section.is_allocated() && (section.kind != 8 || section.flags & 0x400 == 0);
    let sections = joined(image.sections.iter().filter(takes_room).map(Section::memory).collect());
    let mut found = Vec::new();
    for (number, table) in named.iter().enumerate() {
        let Some(load) = image.loads().find(|load| load.backed().contains(&table.end.saturating_sub(1))) else {
            continue;
        };
        let next = named.get(number.saturating_add(1)).map_or(u64::MAX, |next| next.start);
        let gap = table.end..next.min(load.backed().end);
        let gap = if image.sections.is_empty() {
            (next != u64::MAX && gap.end.saturating_sub(gap.start) < 64).then_some(gap)
        } else {
            without(&gap, &sections).into_iter().next().filter(|left| left.start == table.end)
        };
        let is_filler = |gap: &Range<u64>| {
            image.at(gap.clone()).is_some_and(|bytes| bytes.iter().all(|byte| FILLERS.contains(byte)))
        };
        found.extend(gap.filter(|gap| gap.start < gap.end).filter(is_filler));
    }
    found
}

/// Tables and notes of the original that the output has elsewhere, or with other contents, or not at all.
pub(super) fn moved(original: (&Image<'_>, &Tables<'_>), output: (&Image<'_>, &Tables<'_>)) -> Vec<Range<u64>> {
    let mut moved = Vec::new();
    for table in &original.1.list {
        let same = output.1.get(table.tag) == Some(&table.memory)
            && original.0.at(table.memory.clone()) == output.0.at(table.memory.clone());
        if !same {
            moved.push(table.memory.clone());
        }
    }
    let notes = original.0.segments.iter().filter(|segment| [PT_NOTE, PT_GNU_PROPERTY].contains(&segment.kind));
    let notes = notes.flat_map(|segment| super::notes::places(original.0, segment));
    for range in notes.chain(original.0.segments_of(PT_INTERP).map(|segment| segment.backed())) {
        if original.0.at(range.clone()) != output.0.at(range.clone()) {
            moved.push(range);
        }
    }
    if original.0.dynamic.memory != output.0.dynamic.memory {
        moved.push(original.0.dynamic.memory.clone());
    }
    joined(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_taken_away() {
        let ranges = joined(vec![8..10, 0..4, 4..6, 9..12, 20..20]);
        assert_eq!(ranges, [0..6, 8..12]);
        assert_eq!(without(&(2..20), &ranges), [6..8, 12..20]);
        assert_eq!(without(&(6..13), &ranges), [6..8, 12..13]);
        assert_eq!(without(&(0..6), &ranges), [0_u64..0; 0]);
    }
}
