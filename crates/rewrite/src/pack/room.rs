//! How the freed bytes leave the file: where the segment ends, and how far the rest slides towards the front.
//!
//! Addresses stay, so what slides in the file must slide by a multiple of the largest alignment: `p_offset` and `p_vaddr`
//! must agree modulo `p_align` (gABI, "Program Header").

use coldstart_elf::{ElfFile, Segment, SegmentKind, Vaddr};

use crate::anatomy::preface::{Preface, give_way};
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::check_zeros;
use crate::anatomy::{PAGE, program_header_range};
use crate::layout::{align_down, align_up};
use crate::refusal::Refusal;

/// Where the program header for the rest of a split segment comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderSlot {
    /// The entry with this number says nothing: `PT_NULL`, or `PT_PHDR` of a library, which only programs need
    /// (glibc, `elf/rtld.c`).
    Instead(usize),
    /// The table grows where it is.
    Grown(Preface),
}

/// What happens to the segment that holds the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// It ends behind the tables.
    Cut,
    /// It ends behind the tables, and another begins with what follows.
    Split(HeaderSlot),
    /// It stays, with a hole in it.
    Hole,
}

impl Shape {
    /// How far the tables begin later than before, in bytes.
    pub(super) fn run_moves_by(&self) -> u64 {
        self.preface().map_or(0, |preface| preface.run_moves_by)
    }

    /// What gives way to a larger table of program headers.
    pub(super) fn preface(&self) -> Option<&Preface> {
        match self {
            Self::Split(HeaderSlot::Grown(preface)) => Some(preface),
            _ => None,
        }
    }
}

/// What follows the tables, and by how much it slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slide {
    /// Everything from this file offset on comes nearer to the front.
    pub(super) from: u64,
    /// By this many bytes.
    pub(super) by: u64,
}

impl Slide {
    /// The new place of what stands at an offset that is not among the tables.
    pub(super) fn place(&self, offset: u64) -> u64 {
        if offset >= self.from { offset.saturating_sub(self.by) } else { offset }
    }
}

/// The shapes that are possible, best first.
pub(super) fn shapes(file: &ElfFile<'_>, run: &FrontRun, sparse: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    match run.next {
        None => shapes.push(Shape::Cut),
        Some(_) => shapes.extend(header_slot(file, run).map(Shape::Split)),
    }
    if sparse {
        shapes.push(Shape::Hole);
    }
    shapes
}

fn header_slot(file: &ElfFile<'_>, run: &FrontRun) -> Option<HeaderSlot> {
    let size = u64::from(file.header().segment_entry_size);
    let is_library = file.segment(SegmentKind::Interpreter).is_none();
    let says_nothing = |segment: &Segment| match segment.kind {
        SegmentKind::Other(kind) => kind == 0,
        SegmentKind::ProgramHeaders => is_library,
        _ => false,
    };
    if let Some(number) = file.segments().iter().position(says_nothing) {
        return Some(HeaderSlot::Instead(number));
    }
    // `PN_XNUM` begins a different way to count.
    if file.segments().len() >= 0xfffe {
        return None;
    }
    give_way(file, run, program_header_range(file).end, size).map(HeaderSlot::Grown)
}

/// How far what follows can slide, when the tables end at `end`; 0 if not at all.
///
/// # Errors
/// If something lies between the tables and what follows, or an alignment makes no sense.
pub(super) fn slide(file: &ElfFile<'_>, run: &FrontRun, shape: &Shape, end: Vaddr) -> Result<Slide, Refusal> {
    let segment = file.segments().get(run.segment).ok_or(Refusal::NoDynamicTable)?;
    let run_end = run.file_range().end;
    let end_offset = run.offset_of(end.0);
    let from = match (shape, run.next) {
        (Shape::Hole, _) => return Ok(Slide { from: run_end, by: 0 }),
        (_, Some((_, offset))) => offset,
        (_, None) => first_behind(file, run_end),
    };
    check_zeros(file, run_end..from)?;
    let alignment = alignment(file, from)?;
    let page = segment.alignment.max(PAGE);
    let mut by = align_down(from.saturating_sub(end_offset), alignment);
    match run.next {
        // The two parts must not share a page of memory: the second would be mapped over the first.
        Some((next, _)) if align_down(next.0, page) < align_up(end.0, page) => by = 0,
        Some(_) => {}
        // Linkers keep code in pages of its own, so that no other byte can be executed; so do we.
        None if align_down(from, page) >= align_up(run_end, page) => {
            while by > 0 && align_down(from.saturating_sub(by), page) < align_up(end_offset, page) {
                by = by.saturating_sub(alignment);
            }
        }
        None => {}
    }
    Ok(Slide { from, by })
}

/// Where the next thing in the file begins.
fn first_behind(file: &ElfFile<'_>, offset: u64) -> u64 {
    let segments = file.segments().iter().filter(|segment| segment.file_size > 0).map(|segment| segment.offset.0);
    let sections = file.sections().iter().map(|section| &section.header);
    let sections = sections.filter(|header| header.file_size() > 0).map(|header| header.offset.0);
    let headers = [file.header().sections_offset.0, file.size()];
    segments.chain(sections).chain(headers).filter(|start| *start >= offset).min().unwrap_or(offset)
}

/// The largest alignment of what slides.
fn alignment(file: &ElfFile<'_>, from: u64) -> Result<u64, Refusal> {
    let loads = file.load_segments().filter(|load| load.offset.0.saturating_add(load.file_size) > from);
    let sections = file.sections().iter().map(|section| &section.header);
    let sections = sections.filter(|header| header.file_size() > 0 && header.offset.0 >= from);
    let alignments = loads.map(|load| load.alignment).chain(sections.map(|header| header.alignment));
    let mut largest = PAGE;
    for alignment in alignments.filter(|alignment| *alignment > 1) {
        if !alignment.is_power_of_two() {
            return Err(Refusal::Layout(format!("an alignment of {alignment} bytes is no power of two")));
        }
        largest = largest.max(alignment);
    }
    Ok(largest)
}
