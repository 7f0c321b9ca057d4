//! The new ELF header and program headers.

use std::ops::Range;

use coldstart_elf::{ElfFile, SectionHeader, Segment, SegmentKind};

use super::place::Placed;
use super::room::{HeaderSlot, Shape, Slide};
use crate::anatomy::preface::follow_preface;
use crate::anatomy::program_header_range;
use crate::anatomy::tables::{FrontRun, is_filler};
use crate::anatomy::tail::Tail;
use crate::layout::program_header as field;
use crate::refusal::Refusal;

/// `PF_X`.
const EXECUTE: u32 = 1;

/// The program headers of the new file as bytes, one each, with the number that each had before.
pub(super) type NewHeaders = Vec<(Option<usize>, Vec<u8>)>;

/// Makes the program headers of the new file.
pub(super) fn program_headers(
    file: &ElfFile<'_>,
    run: &FrontRun,
    shape: &Shape,
    slide: Slide,
    placed: &Placed,
    tail: &Tail,
) -> Result<NewHeaders, Refusal> {
    let encoding = file.encoding();
    let size = usize::from(file.header().segment_entry_size);
    let start = usize::try_from(file.header().segments_offset.0).ok();
    let table = start.and_then(|start| file.bytes().get(start..)).unwrap_or(&[]);
    let dead = run.offset_of(placed.end.0)..slide.from;
    let mut headers: NewHeaders = Vec::new();
    for (number, (segment, raw)) in file.segments().iter().zip(table.chunks_exact(size.max(1))).enumerate() {
        let mut raw = raw.to_vec();
        if number == run.segment {
            let rest = cut(file, run, shape, slide, placed, &mut raw)?;
            headers.push((Some(number), raw));
            headers.extend(rest.map(|rest| (None, rest)));
            continue;
        }
        if matches!(shape, Shape::Split(HeaderSlot::Instead(instead)) if *instead == number) {
            continue;
        }
        if segment.kind == SegmentKind::ProgramHeaders
            && let Shape::Split(HeaderSlot::Grown(_)) = shape
        {
            for size_field in [field::FILE_SIZE, field::MEMORY_SIZE] {
                let grown = size_field.word(&raw, encoding).saturating_add(size as u64);
                size_field.set_word(&mut raw, encoding, grown);
            }
        }
        // mold gives segments that begin with zero-filled memory the file offset 0; only memory counts for them.
        let is_true = segment.memory_size == 0 || file.offset_of(segment.address) == Some(segment.offset);
        if is_true && reaches_into(segment, &dead) {
            return Err(Refusal::Layout(format!("segment {number} reaches into the loader's tables")));
        }
        if !follow_preface(file, shape.preface(), number, &mut raw) {
            // A segment without bytes may have any offset; it need only stay in the file.
            let place = tail.place_of(file, segment.offset.0).unwrap_or(slide.place(segment.offset.0));
            if !is_true && segment.file_size > 0 && place != segment.offset.0 {
                return Err(Refusal::Layout(format!("segment {number} stands elsewhere in memory than in the file")));
            }
            field::OFFSET.set_word(&mut raw, encoding, place);
        }
        headers.push((Some(number), raw));
    }
    Ok(headers)
}

fn reaches_into(segment: &Segment, dead: &Range<u64>) -> bool {
    let end = segment.offset.0.saturating_add(segment.file_size);
    segment.file_size > 0 && segment.offset.0 < dead.end && end > dead.start
}

/// Ends the segment behind the tables, and returns the header for the rest of it.
fn cut(
    file: &ElfFile<'_>,
    run: &FrontRun,
    shape: &Shape,
    slide: Slide,
    placed: &Placed,
    raw: &mut [u8],
) -> Result<Option<Vec<u8>>, Refusal> {
    let encoding = file.encoding();
    let segment = file.segments().get(run.segment).ok_or(Refusal::NoDynamicTable)?;
    if *shape == Shape::Hole {
        return Ok(None);
    }
    if segment.memory_size != segment.file_size && run.next.is_none() {
        return Err(Refusal::Layout("its tables are followed by memory without bytes in the file".to_owned()));
    }
    let mut rest = raw.to_vec();
    let size = placed.end.0.saturating_sub(segment.address.0);
    field::FILE_SIZE.set_word(raw, encoding, size);
    field::MEMORY_SIZE.set_word(raw, encoding, size);
    let Some((next, offset)) = run.next else { return Ok(None) };
    let before = next.0.saturating_sub(segment.address.0);
    let physical = field::PHYSICAL_ADDRESS.word(&rest, encoding).wrapping_add(before);
    field::ADDRESS.set_word(&mut rest, encoding, next.0);
    field::PHYSICAL_ADDRESS.set_word(&mut rest, encoding, physical);
    field::OFFSET.set_word(&mut rest, encoding, slide.place(offset));
    field::FILE_SIZE.set_word(&mut rest, encoding, segment.file_size.saturating_sub(before));
    field::MEMORY_SIZE.set_word(&mut rest, encoding, segment.memory_size.saturating_sub(before));
    // What is left in front is data; code checkers complain about executable segments without code.
    if segment.is_executable() && is_data(file, run) {
        field::FLAGS.set_u32(raw, encoding, segment.flags & !EXECUTE);
    }
    Ok(Some(rest))
}

/// Whether nothing from the segment's start to its tables can be code: sections that are not, and fillers between them.
fn is_data(file: &ElfFile<'_>, run: &FrontRun) -> bool {
    let tables = run.file_range();
    let mut in_front: Vec<&SectionHeader> = file.sections().iter().map(|section| &section.header).collect();
    in_front.retain(|header| header.is_loaded() && header.file_size() > 0 && header.offset.0 < tables.start);
    in_front.sort_by_key(|header| header.offset);
    let ends = in_front.iter().map(|header| (header.offset.0, header.offset.0.saturating_add(header.size)));
    let mut at = program_header_range(file).end;
    for (start, end) in ends.chain([(tables.start, tables.end)]) {
        // Sections that overlap leave nothing between them.
        if start > at && !is_filler(file, at..start) {
            return false;
        }
        at = end;
    }
    !in_front.iter().any(|header| header.is_executable())
}
