//! The new ELF header and program headers.

use coldstart_elf::{ElfFile, FileSpan, Position, SectionHeader, Segment, SegmentKind, VaddrSpan};

use super::assemble::Layout;
use super::place::Placed;
use super::room::{HeaderSlot, Shape, Slide};
use crate::anatomy::preface::follow_preface;
use crate::anatomy::program_header_range;
use crate::anatomy::tables::{FrontRun, is_filler};
use crate::anatomy::tail::Tail;
use crate::assembly::NewHeaders;
use crate::layout::program_header as field;
use crate::refusal::Refusal;

/// `PF_X`.
const EXECUTE: u32 = 1;

/// Builds the program headers of the new file.
pub(super) fn program_headers(file: &ElfFile<'_>, layout: &Layout, tail: &Tail) -> Result<NewHeaders, Refusal> {
    let Layout { run, shape, slide, placed, stub, alignment, .. } = layout;
    let encoding = file.encoding();
    let size = usize::from(file.header().segment_entry_size);
    let start = usize::try_from(file.header().segments_offset.0).ok();
    let table = start.and_then(|start| file.bytes().get(start..)).unwrap_or(&[]);
    // No free space if the tables take all of it.
    let dead = FileSpan::between(run.offset_of(placed.end)?, slide.from).unwrap_or_default();
    let mut headers: NewHeaders = Vec::new();
    for (number, (segment, raw)) in file.segments().iter().zip(table.chunks_exact(size.max(1))).enumerate() {
        let mut raw = raw.to_vec();
        if segment.kind == SegmentKind::Load {
            field::ALIGNMENT.set_word(&mut raw, encoding, alignment.of(segment));
        }
        if number == run.segment {
            let rest = cut(file, run, shape, *slide, placed, &mut raw)?;
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
                let grown = size_field.word(&raw, encoding).checked_add(size as u64);
                let grown = grown.ok_or_else(|| Refusal::Layout("the size of PT_PHDR overflows".to_owned()))?;
                size_field.set_word(&mut raw, encoding, grown);
            }
        }
        // mold gives segments that begin with zero-filled memory the file offset 0; only memory counts for them.
        let is_true = segment.memory_size == 0 || file.offset_of(segment.address) == Some(segment.offset);
        if is_true && reaches_into(segment, &dead)? {
            return Err(Refusal::Layout(format!("segment {number} overlaps the loader's tables")));
        }
        if !follow_preface(file, shape.preface(), number, &mut raw)? {
            // An empty segment may have any offset within the file.
            let slid = slide.place(segment.offset)?;
            let place = tail.place_of(file, segment.offset).unwrap_or(slid);
            if !is_true && segment.file_size > 0 && place != segment.offset {
                return Err(Refusal::Layout(format!("segment {number} has inconsistent addresses and file offsets")));
            }
            field::OFFSET.set_word(&mut raw, encoding, place.0);
        }
        if let Some(stub) = stub.filter(|stub| stub.grows.is_some_and(|growth| growth.segment == number)) {
            let size = stub.memory.end().since(segment.address)?;
            field::FILE_SIZE.set_word(&mut raw, encoding, size);
            field::MEMORY_SIZE.set_word(&mut raw, encoding, size);
        }
        headers.push((Some(number), raw));
    }
    Ok(headers)
}

fn reaches_into(segment: &Segment, dead: &FileSpan) -> Result<bool, Refusal> {
    let span = segment.file_span()?;
    Ok(!span.is_empty() && span.overlaps(dead))
}

/// Ends the segment after the tables, and returns the header for the rest of it.
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
        return Err(Refusal::Layout("its tables are followed by zero-filled memory".to_owned()));
    }
    let mut rest = raw.to_vec();
    let size = placed.end.since(segment.address)?;
    field::FILE_SIZE.set_word(raw, encoding, size);
    field::MEMORY_SIZE.set_word(raw, encoding, size);
    let Some((next, offset)) = run.next else { return Ok(None) };
    let before = next.since(segment.address)?;
    let rest_of = |size: u64| VaddrSpan::between(next, segment.address.plus(size)?).map(|span| span.size());
    let physical = field::PHYSICAL_ADDRESS.word(&rest, encoding).wrapping_add(before);
    field::ADDRESS.set_word(&mut rest, encoding, next.0);
    field::PHYSICAL_ADDRESS.set_word(&mut rest, encoding, physical);
    field::OFFSET.set_word(&mut rest, encoding, slide.place(offset)?.0);
    field::FILE_SIZE.set_word(&mut rest, encoding, rest_of(segment.file_size)?);
    field::MEMORY_SIZE.set_word(&mut rest, encoding, rest_of(segment.memory_size)?);
    // The part in front is data; code checkers complain about executable segments without code.
    if segment.is_executable() && placed.stub().is_none() && is_data(file, run)? {
        field::FLAGS.set_u32(raw, encoding, segment.flags & !EXECUTE);
    }
    Ok(Some(rest))
}

/// Whether everything from the segment's start to its tables is data or padding.
fn is_data(file: &ElfFile<'_>, run: &FrontRun) -> Result<bool, Refusal> {
    let tables = run.file_span();
    let mut in_front: Vec<&SectionHeader> = file.sections().iter().map(|section| &section.header).collect();
    in_front.retain(|header| header.is_loaded() && header.file_size() > 0 && header.offset < tables.start());
    in_front.sort_by_key(|header| header.offset);
    let mut spans = in_front.iter().map(|header| header.file_span()).collect::<Result<Vec<_>, _>>()?;
    spans.push(tables);
    let mut at = program_header_range(file)?.end();
    for span in spans {
        // Overlapping sections leave no space between them.
        if FileSpan::between(at, span.start()).is_ok_and(|gap| !gap.is_empty() && !is_filler(file, gap)) {
            return Ok(false);
        }
        at = span.end();
    }
    Ok(!in_front.iter().any(|header| header.is_executable()))
}
