//! Memory that only loaders read: the ranges that may change, determined from each file's own headers.

use std::ops::Range;

use object::elf::{PT_GNU_PROPERTY, PT_INTERP, PT_NOTE, SHF_TLS, SHT_NOBITS};

use crate::image::Image;
use crate::image::headers::Section;
use crate::ranges::{joined, without};
use crate::tables::{Tables, notes};

/// The ranges of a file that are compared by meaning instead of bytes.
#[derive(Debug)]
pub(crate) struct Places {
    /// Headers, tables, interpreter path, notes and dynamic table, as disjoint ranges in order.
    pub(crate) named: Vec<Range<u64>>,
    /// The same, including the padding after them.
    pub(crate) exempt: Vec<Range<u64>>,
}

impl Places {
    pub(crate) fn find(image: &Image<'_>, tables: &Tables<'_>) -> Self {
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

/// The ranges of `PT_INTERP` and notes.
fn small_segments(image: &Image<'_>) -> impl Iterator<Item = Range<u64>> {
    let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
    image.segments.iter().filter(move |segment| kinds.contains(&segment.kind)).map(|segment| segment.backed())
}

/// Padding bytes of linkers, and patchelf's filler for tables that it moved.
const FILLERS: [u8; 2] = [0, b'X'];

/// Padding after a table, outside sections, up to the next section or table. Without section headers, only as much as
/// the next table's alignment needs.
fn padding(image: &Image<'_>, named: &[Range<u64>]) -> Vec<Range<u64>> {
    // .tbss has no memory at its address.
    let takes_room = |section: &&Section<'_>| {
        section.is_allocated() && (section.kind != SHT_NOBITS || !section.flags.intersects(SHF_TLS))
    };
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

/// Tables and notes of the original that are moved, changed or removed in the output.
pub(crate) fn moved(original: (&Image<'_>, &Tables<'_>), output: (&Image<'_>, &Tables<'_>)) -> Vec<Range<u64>> {
    let mut moved = Vec::new();
    for table in &original.1.list {
        let same = output.1.get(table.tag) == Some(&table.memory)
            && original.0.at(table.memory.clone()) == output.0.at(table.memory.clone());
        if !same {
            moved.push(table.memory.clone());
        }
    }
    let notes = original.0.segments.iter().filter(|segment| [PT_NOTE, PT_GNU_PROPERTY].contains(&segment.kind));
    let notes = notes.flat_map(|segment| notes::places(original.0, segment));
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
