//! The new ELF header and program headers.

use std::ops::Range;

use coldstart_elf::{ElfFile, SectionHeader, Segment, SegmentKind};

use super::place::{Placed, zeros};
use super::preface::Preface;
use super::room::{HeaderSlot, Shape, Slide};
use super::tables::{FrontRun, is_filler};
use super::tail::Tail;
use crate::layout::program_header as field;
use crate::refusal::Refusal;
use crate::script::Piece;

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
        if !follow_preface(file, shape, number, &mut raw) {
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

/// Where the program headers are in the file.
pub(super) fn program_header_range(file: &ElfFile<'_>) -> Range<u64> {
    let start = file.header().segments_offset.0;
    let size = u64::from(file.header().segment_entry_size).saturating_mul(file.segments().len() as u64);
    start..start.saturating_add(size)
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

/// Moves the header of a segment whose sections gave way; whether it was one.
fn follow_preface(file: &ElfFile<'_>, shape: &Shape, number: usize, raw: &mut [u8]) -> bool {
    let Some(preface) = shape.preface().filter(|preface| !preface.moved.is_empty()) else { return false };
    let Some(segment) = file.segments().get(number) else { return false };
    if matches!(segment.kind, SegmentKind::Load | SegmentKind::ProgramHeaders | SegmentKind::Stack) {
        return false;
    }
    let encoding = file.encoding();
    let mut range: Option<(u64, u64)> = None;
    let mut has_moved = false;
    for (number, section) in file.sections().iter().enumerate() {
        let header = &section.header;
        if !header.is_loaded() || header.file_size() == 0 || !segment.contains(header.address) {
            continue;
        }
        let moved = preface.moved.iter().find(|moved| moved.section == number);
        has_moved |= moved.is_some();
        let start = header.address.0.saturating_add(moved.map_or(0, |moved| moved.by));
        let end = start.saturating_add(header.size);
        range = Some(range.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
    }
    let Some((start, end)) = range.filter(|_| has_moved) else { return false };
    let shift = start.wrapping_sub(segment.address.0);
    for address in [field::ADDRESS, field::PHYSICAL_ADDRESS, field::OFFSET] {
        let moved = address.word(raw, encoding).wrapping_add(shift);
        address.set_word(raw, encoding, moved);
    }
    field::FILE_SIZE.set_word(raw, encoding, end.saturating_sub(start));
    field::MEMORY_SIZE.set_word(raw, encoding, end.saturating_sub(start));
    true
}

/// What stands between the larger program headers and the run's new start.
pub(super) fn preface_pieces(preface: &Preface, headers_end: u64, run_start: u64) -> Vec<Piece> {
    let mut parts = vec![(preface.stays.start, preface.stays.clone())];
    parts.extend(
        preface.moved.iter().map(|moved| {
            (moved.offset.saturating_add(moved.by), moved.offset..moved.offset.saturating_add(moved.size))
        }),
    );
    let mut at = headers_end;
    let mut pieces = Vec::new();
    for (place, range) in parts.into_iter().filter(|(_, range)| !range.is_empty()) {
        pieces.extend(zeros(place.saturating_sub(at)));
        at = place.saturating_add(range.end.saturating_sub(range.start));
        pieces.push(Piece::Copy(range));
    }
    pieces.extend(zeros(run_start.saturating_sub(at)));
    pieces
}
