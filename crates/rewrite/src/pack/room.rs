//! How the freed bytes are removed: where the segment ends, and how far the rest slides towards the front.
//!
//! Addresses are unchanged, so a file offset must change by a multiple of the largest alignment: `p_offset` and
//! `p_vaddr` must agree modulo `p_align` (gABI, "Program Header").

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Notes, Position, Segment, SegmentKind, Vaddr};

use super::alignment::LoadAlignment;
use crate::anatomy::preface::{Preface, give_way};
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::check_zeros;
use crate::anatomy::{PAGE, program_header_range};
use crate::layout::part;
use crate::refusal::Refusal;

/// The source of the program header for the rest of a split segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderSlot {
    /// An entry without meaning: `PT_NULL`; `PT_PHDR` of a library, which only programs need (glibc,
    /// `elf/rtld.c`); `PT_NOTE` of notes that old patchelf moved away and let the program headers grow over.
    Instead(usize),
    /// The table grows in place.
    Grown(Preface),
}

/// The change to the segment with the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// It ends after the tables.
    Cut,
    /// It ends after the tables, and a new one begins with the data after them.
    Split(HeaderSlot),
    /// It stays, with a hole in it.
    Hole,
}

impl Shape {
    /// How much later the tables begin, in bytes.
    pub(super) fn run_moves_by(&self) -> u64 {
        self.preface().map_or(0, |preface| preface.run_moves_by)
    }

    /// The sections that move for a larger program header table.
    pub(super) fn preface(&self) -> Option<&Preface> {
        match self {
            Self::Split(HeaderSlot::Grown(preface)) => Some(preface),
            _ => None,
        }
    }
}

/// The data after the tables, and how far it slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slide {
    /// Everything from this file offset on slides towards the front.
    pub(super) from: FileOffset,
    /// By this many bytes.
    pub(super) by: u64,
    /// Bytes put in behind that.
    pub(super) inserted: Option<Inserted>,
}

/// Bytes that the original does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Everything from this file offset on follows them.
    pub(super) at: FileOffset,
    /// Their number.
    pub(super) bytes: u64,
}

impl Slide {
    /// The new file offset for an offset outside the tables.
    pub(super) fn place(&self, offset: FileOffset) -> Result<FileOffset, Refusal> {
        let slid = if offset >= self.from { offset.minus(self.by)? } else { offset };
        match self.inserted.filter(|inserted| offset >= inserted.at) {
            Some(inserted) => Ok(slid.plus(inserted.bytes)?),
            None => Ok(slid),
        }
    }
}

/// The possible shapes, best first.
pub(super) fn shapes(file: &ElfFile<'_>, run: &FrontRun, sparse: bool) -> Result<Vec<Shape>, Refusal> {
    let mut shapes = Vec::new();
    match run.next {
        None => shapes.push(Shape::Cut),
        Some(_) => shapes.extend(header_slot(file, run)?.map(Shape::Split)),
    }
    if sparse {
        shapes.push(Shape::Hole);
    }
    Ok(shapes)
}

fn header_slot(file: &ElfFile<'_>, run: &FrontRun) -> Result<Option<HeaderSlot>, Refusal> {
    let size = u64::from(file.header().segment_entry_size);
    let is_library = file.segment(SegmentKind::Interpreter).is_none();
    let headers = program_header_range(file)?;
    let says_nothing = |segment: &Segment| match segment.kind {
        SegmentKind::Other(kind) => kind == 0,
        SegmentKind::ProgramHeaders => is_library,
        SegmentKind::Note => is_stale_note(file, segment, headers),
        _ => false,
    };
    if let Some(number) = file.segments().iter().position(says_nothing) {
        return Ok(Some(HeaderSlot::Instead(number)));
    }
    // At `PN_XNUM` another encoding of the count begins.
    if file.segments().len() >= 0xfffe {
        return Ok(None);
    }
    Ok(give_way(file, run, program_header_range(file)?.end(), size)?.map(HeaderSlot::Grown))
}

/// Whether a note segment leads into the program headers and to no notes.
fn is_stale_note(file: &ElfFile<'_>, segment: &Segment, headers: FileSpan) -> bool {
    let Ok(span) = segment.file_span() else { return false };
    let Some(bytes) = part(file.bytes(), span).filter(|_| span.overlaps(&headers)) else { return false };
    Notes::new(bytes, segment.offset, segment.alignment, file.encoding())
        .is_ok_and(|mut notes| notes.any(|note| note.is_err()))
}

/// How far the data after the tables can slide, when the tables end at `end`; 0 if not at all.
///
/// # Errors
/// If something is between the tables and that data, or an alignment is invalid.
pub(super) fn slide(
    file: &ElfFile<'_>,
    run: &FrontRun,
    shape: &Shape,
    end: Vaddr,
    loads: LoadAlignment,
) -> Result<Slide, Refusal> {
    let segment = file.segments().get(run.segment).ok_or(Refusal::NoDynamicTable)?;
    let run_end = run.file_span().end();
    let end_offset = run.offset_of(end)?;
    let from = match (shape, run.next) {
        (Shape::Hole, _) => return Ok(Slide { from: run_end, by: 0, inserted: None }),
        (_, Some((_, offset))) => offset,
        (_, None) => first_behind(file, run_end),
    };
    check_zeros(file, FileSpan::between(run_end, from)?)?;
    let alignment = alignment(file, from, loads)?;
    let page = loads.of(segment).max(PAGE);
    // Tables that have grown past that data leave no space.
    let free = from.since(end_offset).unwrap_or(0);
    let mut by = FileOffset(free).aligned_down(alignment).0;
    match run.next {
        // The two parts must not share a page of memory: the second would be mapped over the first.
        Some((next, _)) if next.aligned_down(page) < end.aligned_up(page)? => by = 0,
        Some(_) => {}
        // Linkers keep code in pages of its own, so that no other byte is executable; so do we.
        None if from.aligned_down(page) >= run_end.aligned_up(page)? => {
            while by > 0 && from.minus(by)?.aligned_down(page) < end_offset.aligned_up(page)? {
                // A multiple of the alignment above 0 is no less than it.
                by = FileOffset(by).minus(alignment)?.0;
            }
        }
        None => {}
    }
    Ok(Slide { from, by, inserted: None })
}

/// Where the next thing in the file begins.
pub(super) fn first_behind(file: &ElfFile<'_>, offset: FileOffset) -> FileOffset {
    let segments = file.segments().iter().filter(|segment| segment.file_size > 0).map(|segment| segment.offset);
    let sections = file.sections().iter().map(|section| &section.header);
    let sections = sections.filter(|header| header.file_size() > 0).map(|header| header.offset);
    let headers = [file.header().sections_offset, FileOffset(file.size())];
    segments.chain(sections).chain(headers).filter(|start| *start >= offset).min().unwrap_or(offset)
}

/// The largest alignment of the sliding data.
pub(super) fn alignment(file: &ElfFile<'_>, from: FileOffset, loads: LoadAlignment) -> Result<u64, Refusal> {
    let mut alignments = Vec::new();
    for load in file.load_segments() {
        if load.file_span()?.end() > from {
            alignments.push(loads.of(load));
        }
    }
    let sections = file.sections().iter().map(|section| &section.header);
    let sections = sections.filter(|header| header.file_size() > 0 && header.offset >= from);
    alignments.extend(sections.map(|header| header.alignment));
    let mut largest = PAGE;
    for alignment in alignments.into_iter().filter(|alignment| *alignment > 1) {
        if !alignment.is_power_of_two() {
            return Err(Refusal::Layout(format!("an alignment of {alignment} bytes is not a power of two")));
        }
        largest = largest.max(alignment);
    }
    Ok(largest)
}
