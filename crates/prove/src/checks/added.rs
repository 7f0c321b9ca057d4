//! Memory that only the output maps, added by a search edit: the grown strings, the moved dynamic table, the loaded
//! note, and zeros between them.

use std::ops::Range;

use object::elf::{PF_W, PT_GNU_PROPERTY, PT_INTERP, PT_NOTE};

use super::expected::Expected;
use crate::image::Image;
use crate::image::dynamic::{tag, tag_name};
use crate::loaded::Loaded;
use crate::ranges::{joined, without};
use crate::tables::Tables;
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "added memory";

/// Checks new memory against its allowed contents.
pub(crate) fn check(original: &Image<'_>, output: &Loaded<'_, '_>, expected: &Expected<'_>) -> Result<(), NotProven> {
    let (image, tables) = (output.image, output.tables);
    let mapped = joined(original.loads().map(|load| load.memory()).collect());
    let added: Vec<Range<u64>> = image.loads().flat_map(|load| without(&load.memory(), &mapped)).collect();
    let moved = expected.moves_dynamic(original, image).then(|| image.dynamic.memory.clone());
    let strings = tables.get(tag::STRTAB).cloned();
    let note = expected.note.as_ref().map(|note| note.backed());
    check_apart(original, (image, tables), [&moved, &strings, &note])?;
    check_others((image, tables), &added, expected)?;
    let meant = joined([&moved, &strings, &note].into_iter().flatten().cloned().collect());
    let others = tables.other_targets(image);
    for load in image.loads() {
        let mut own = without(&load.memory(), &mapped).into_iter().peekable();
        if own.peek().is_none() {
            continue;
        }
        let holds = |range: &Range<u64>| load.memory().start <= range.start && range.end <= load.memory().end;
        let is_used =
            |range: &Option<Range<u64>>| range.as_ref().is_some_and(|range| !range.is_empty() && holds(range));
        if ![&moved, &strings, &note].into_iter().any(is_used) {
            return Err(differs(WHAT, hex(load.address), "not mapped", "mapped, but nothing is there"));
        }
        let is_new = expected.is_new(load);
        if is_new && load.flags.contains(PF_W) && !is_used(&moved) {
            return Err(differs(WHAT, hex(load.address), "not mapped", "writable, without the dynamic table"));
        }
        for range in own {
            let is_target =
                |(start, size): &(u64, u64)| *start < range.end && range.start < start.saturating_add(*size);
            if output.slots.touching(&range).is_some() || others.iter().any(is_target) {
                return Err(broken(image.which, WHAT, hex(range.start), "a relocation changes it"));
            }
            for dead in without(&range, &meant) {
                let bytes = image.at(dead.clone());
                let bytes = bytes.ok_or_else(|| broken(image.which, WHAT, hex(dead.start), "outside the file"))?;
                if let Some(place) = bytes.iter().position(|byte| *byte != 0) {
                    let place = hex(dead.start.saturating_add(place as u64));
                    return Err(differs(WHAT, place, "not mapped", "used"));
                }
            }
        }
    }
    Ok(())
}

/// Loaders write to the dynamic table: nothing else may overlap it, or its old range once it moved.
fn check_apart(
    original: &Image<'_>,
    (output, tables): (&Image<'_>, &Tables<'_>),
    [moved, _, note]: [&Option<Range<u64>>; 3],
) -> Result<(), NotProven> {
    let mut named: Vec<(String, Range<u64>)> =
        tables.list.iter().map(|table| (tag_name(table.tag), table.memory.clone())).collect();
    named.extend(note.clone().map(|note| ("the loaded note".to_owned(), note)));
    let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
    let small = output.segments.iter().filter(|segment| kinds.contains(&segment.kind));
    named.extend(small.map(|segment| (format!("the segment of type {:#x}", segment.kind), segment.backed())));
    named.extend(output.program_header_table().map(|table| ("the program headers".to_owned(), table)));
    let apart = |one: &Range<u64>, other: &Range<u64>| one.end <= other.start || other.end <= one.start;
    let places = moved.iter().chain(moved.iter().map(|_| &original.dynamic.memory));
    for place in places.chain([&output.dynamic.memory]) {
        if let Some((name, range)) = named.iter().find(|(_, range)| !range.is_empty() && !apart(range, place)) {
            let problem = format!("{name} is inside the dynamic table at {:x?}", place);
            return Err(broken(output.which, WHAT, hex(range.start), problem));
        }
    }
    Ok(())
}

/// Not allowed in new memory: every other table, the interpreter's path, other notes, the program headers.
fn check_others(
    (output, tables): (&Image<'_>, &Tables<'_>),
    added: &[Range<u64>],
    expected: &Expected<'_>,
) -> Result<(), NotProven> {
    let is_inside = |range: &Range<u64>| added.iter().any(|new| range.start < new.end && new.start < range.end);
    let wrong = |name: String, range: &Range<u64>| {
        Err(broken(output.which, WHAT, hex(range.start), format!("{name} must not be there")))
    };
    let others = tables.list.iter().filter(|table| table.tag != tag::STRTAB && !table.memory.is_empty());
    if let Some(table) = others.clone().find(|table| is_inside(&table.memory)) {
        return wrong(tag_name(table.tag), &table.memory);
    }
    let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
    let segments = output.segments.iter().filter(|segment| kinds.contains(&segment.kind));
    let mut segments = segments.filter(|segment| !expected.is_new(segment) && segment.file_size > 0);
    if let Some(segment) = segments.find(|segment| is_inside(&segment.backed())) {
        return wrong(format!("the segment of type {:#x}", segment.kind), &segment.backed());
    }
    match output.program_header_table().filter(is_inside) {
        Some(table) => wrong("the program header table".to_owned(), &table),
        None => Ok(()),
    }
}
