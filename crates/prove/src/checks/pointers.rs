//! Words with the address of a table that has moved.
//!
//! In a position-independent object, every pointer has a relocation. A program at fixed addresses has plain words as
//! pointers, among numbers that look like pointers: an aligned word counts as a pointer if its value is inside the
//! dynamic table, a note or the interpreter's path, or is the start of another table. (In Python, type flags look
//! like addresses in the middle of its symbols.) Addresses within instructions are not detected.

use std::ops::Range;

use object::elf::{PT_GNU_PROPERTY, PT_INTERP, PT_NOTE};

use crate::image::Image;
use crate::image::dynamic::tag;
use crate::image::headers::Segment;
use crate::loaded::Loaded;
use crate::ranges::{joined, without};
use crate::tables::Tables;
use crate::tables::symbols::{string, symbol};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "pointer to a moved table";

/// First words of the global offset table that hold the link-time address of the dynamic table.
///
/// The psABIs reserve them (x86-64, 5.2 "Global Offset Table": "to find its own dynamic structure without having yet
/// processed its relocation entries"). Only self-relocating objects, the loader and static programs, read this word,
/// and their table does not move. In all others it is unused, so both the old address (patchelf leaves it) and the
/// new one (prelink and linkers would write it) are accepted. A relocated word is not such a word, but a pointer that
/// a program reads.
pub(crate) fn first_words(original: &Loaded<'_, '_>, output: &Loaded<'_, '_>) -> Vec<Range<u64>> {
    let image = original.image;
    let word = image.word_size();
    let sections = image.sections.iter().filter(|section| [&b".got"[..], b".got.plt"].contains(&section.name));
    let starts = sections.filter(|section| section.is_allocated()).map(|section| section.address);
    let mut words: Vec<Range<u64>> = starts
        .chain(image.dynamic.get(tag::PLTGOT))
        .map(|start| start..start.saturating_add(word))
        .filter(|range| image.at(range.clone()).and_then(|bytes| image.word(bytes)) == Some(image.dynamic.memory.start))
        .collect();
    for loaded in [original, output] {
        let others = loaded.tables.other_targets(loaded.image);
        words.retain(|word| {
            let relocated = |(start, size): &(u64, u64)| *start < word.end && word.start < start.saturating_add(*size);
            loaded.slots.touching(word).is_none() && !others.iter().any(relocated)
        });
    }
    joined(words)
}

/// Each of them has the old or the new address.
pub(crate) fn check_first_words(
    original: &Image<'_>,
    output: &Image<'_>,
    words: &[Range<u64>],
) -> Result<(), NotProven> {
    let word = usize::try_from(original.word_size()).unwrap_or(8);
    let (old, new) = (original.dynamic.memory.start, output.dynamic.memory.start);
    for range in words {
        let bytes = output.at(range.clone()).unwrap_or(&[]);
        let values = bytes.chunks(word).map(|bytes| output.word(bytes));
        if bytes.is_empty() || values.into_iter().any(|value| value != Some(old) && value != Some(new)) {
            let found = output.word(bytes).map_or_else(|| "nothing".to_owned(), hex);
            return Err(differs("memory", hex(range.start), format!("{old:#x}, now {new:#x}"), found));
        }
    }
    Ok(())
}

/// No plain word of the original, except for exempt ones, points into moved tables.
pub(crate) fn check_plain_words(
    image: &Image<'_>,
    tables: &Tables<'_>,
    exempt: &[Range<u64>],
    moved: &[Range<u64>],
) -> Result<(), NotProven> {
    let has_moved = |address: &u64| moved.iter().any(|range| range.contains(address));
    let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
    let small = image.segments.iter().filter(|segment| kinds.contains(&segment.kind)).map(Segment::backed);
    let mut whole: Vec<Range<u64>> = small.chain([image.dynamic.memory.clone()]).collect();
    whole.retain(|range| has_moved(&range.start));
    let starts = tables.list.iter().map(|table| table.memory.start).filter(has_moved);
    whole.extend(starts.map(|start| start..start.saturating_add(1)));
    let whole = joined(whole);
    let (Some(first), Some(last)) = (whole.first(), whole.last()) else { return Ok(()) };
    let span = first.start..last.end;
    let word = image.word_size();
    for load in image.loads() {
        let mut behind = 0;
        for range in without(&load.backed(), exempt) {
            let start = range.start.checked_next_multiple_of(word).unwrap_or(u64::MAX);
            let bytes = image.at(start..range.end).unwrap_or(&[]);
            for (number, bytes) in bytes.chunks_exact(word as usize).enumerate() {
                let Some(value) = image.word(bytes).filter(|value| span.contains(value)) else { continue };
                if whole.iter().any(|range| range.contains(&value)) {
                    let place = start.saturating_add(word.saturating_mul(number as u64));
                    let problem = format!("the word holds {}, in a moved table", hex(value));
                    return Err(broken(image.which, WHAT, hex(place), problem));
                }
            }
            image.release_behind(&mut behind, image.offset_of(range.end).unwrap_or(0));
        }
    }
    Ok(())
}

/// No dynamic symbol has an address in a moved table.
pub(crate) fn check_symbols((image, tables): (&Image<'_>, &Tables<'_>), moved: &[Range<u64>]) -> Result<(), NotProven> {
    let symbols = (1..tables.symbol_count).map_while(|number| symbol(image, tables.symbols, number));
    for symbol in symbols.filter(|symbol| symbol.has_address()) {
        if moved.iter().any(|range| range.contains(&symbol.value)) {
            let name = string(tables.strings, symbol.name).unwrap_or(&[]);
            let place = format!("the dynamic symbol `{}`", String::from_utf8_lossy(name));
            let problem = "it names a place in a moved table";
            return Err(broken(image.which, WHAT, place, problem));
        }
    }
    Ok(())
}
