//! The data between the program headers and the tables, and how it makes room for one more program header.
//!
//! The program headers cannot move: GNU strip silently breaks a program with a table elsewhere. They can grow in
//! place if the data after them moves: the interpreter path and GNU's notes, which only program headers refer to.
//! Programs may access other notes by address (crashpad's), so these stay.

use coldstart_elf::{
    ElfFile, FileOffset, FileSpan, Notes, Position, SectionHeader, SectionKind, Segment, SegmentKind, Vaddr, VaddrSpan,
};

use super::tables::{FrontRun, is_filler};
use super::{section_header_range, zeros};
use crate::layout::program_header as field;
use crate::refusal::Refusal;
use crate::script::Piece;

/// Core dumps contain the first page of a file, for its build id (kernel, `fs/coredump.c`).
const FIRST_PAGE: u64 = 4096;

/// A moved section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Its index.
    pub(crate) section: usize,
    /// Its old offset. It is in the file's first part, so address and file offset move together.
    pub(crate) address: Vaddr,
    pub(crate) file: FileSpan,
    /// Its displacement in bytes.
    pub(crate) by: u64,
}

impl Moved {
    /// Its new address.
    pub(crate) fn new_address(&self) -> Result<Vaddr, Refusal> {
        Ok(self.address.plus(self.by)?)
    }

    /// Its new file offset.
    pub(crate) fn new_offset(&self) -> Result<FileOffset, Refusal> {
        Ok(self.file.start().plus(self.by)?)
    }
}

/// How the program header table can grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preface {
    /// The file range of the sections that stay where they are.
    pub(crate) stays: FileSpan,
    /// Moved sections, in their new order.
    pub(crate) moved: Vec<Moved>,
    /// How much later the run of tables must begin.
    pub(crate) run_moves_by: u64,
}

/// How the program headers, which end at `headers_end`, can grow by `size` bytes; `None` if they cannot.
///
/// # Errors
/// If a section or the headers exceed the largest offset.
pub(crate) fn give_way(
    file: &ElfFile<'_>,
    run: &FrontRun,
    headers_end: FileOffset,
    size: u64,
) -> Result<Option<Preface>, Refusal> {
    let run_start = run.file_span().start();
    let wanted_end = headers_end.plus(size)?;
    if headers_end > run_start {
        return Ok(None);
    }
    let wanted = FileSpan::between(headers_end, wanted_end)?;
    // Go's linker places the section headers there, and a program might read them in memory.
    let section_headers = section_header_range(file)?;
    if section_headers.start() < wanted_end && section_headers.end() > headers_end {
        return Ok(None);
    }
    let Some(mut sections) = between(file, headers_end, run_start)? else { return Ok(None) };
    sections.sort_by_key(|section| section.file.start());
    let first = sections.first().map_or(run_start, |first| first.file.start());
    if first >= wanted_end {
        let stays = FileSpan::between(wanted_end, run_start)?;
        return Ok(is_filler(file, wanted).then(|| Preface { stays, ..Preface::default() }));
    }
    // Other bytes outside sections may be in use.
    let mut at = headers_end;
    let run_span = run.file_span();
    for span in sections.iter().map(|section| section.file).chain([run_span]) {
        // Overlapping sections leave no space between them, and the owner of such bytes is unclear.
        if !FileSpan::between(at, span.start()).is_ok_and(|gap| is_filler(file, gap)) {
            return Ok(None);
        }
        at = span.end();
    }
    if sections.is_empty() {
        let alignment = run.tables.first().map_or(1, |table| table.alignment);
        let missing = FileOffset(wanted_end.since(run_start)?);
        let by = missing.aligned_up(alignment.max(8))?.0;
        return Ok(Some(Preface { run_moves_by: by, ..Preface::default() }));
    }
    let ways = [to_the_back(file, &sections, wanted_end, run_start)?, all_further(file, &sections, size)?];
    for preface in ways.into_iter().flatten() {
        if keeps_notes(file, &preface)? && preface.run_moves_by < FIRST_PAGE {
            return Ok(Some(preface));
        }
    }
    Ok(None)
}

/// The sections with bytes from the headers' end up to the run; `None` if one of them is not loaded, or begins
/// earlier.
fn between(file: &ElfFile<'_>, headers_end: FileOffset, run_start: FileOffset) -> Result<Option<Vec<Moved>>, Refusal> {
    let mut sections = Vec::new();
    for (number, section) in file.sections().iter().enumerate() {
        let header = &section.header;
        let span = header.file_span()?;
        if span.is_empty() || span.start() >= run_start || span.end() <= headers_end {
            continue;
        }
        if !header.is_loaded() || span.start() < headers_end {
            return Ok(None);
        }
        sections.push(Moved { section: number, address: header.address, file: span, by: 0 });
    }
    Ok(Some(sections))
}

/// Sections in the way are placed after the others.
fn to_the_back(
    file: &ElfFile<'_>,
    sections: &[Moved],
    wanted_end: FileOffset,
    run_start: FileOffset,
) -> Result<Option<Preface>, Refusal> {
    let (mut going, staying): (Vec<Moved>, Vec<Moved>) =
        sections.iter().partition(|section| section.file.start() < wanted_end);
    if !going.iter().all(|section| may_move(file, section.section)) {
        return Ok(None);
    }
    // The interpreter path last, so that notes stay adjacent.
    going.sort_by_key(|section| is_note(file, section.section) as u8 ^ 1);
    let mut at = staying.last().map_or(wanted_end, |last| last.file.end());
    for section in &mut going {
        let Some(header) = file.sections().get(section.section).map(|section| &section.header) else { return Ok(None) };
        at = at.aligned_up(header.alignment)?;
        let Ok(by) = at.since(section.file.start()) else { return Ok(None) };
        section.by = by;
        at = at.plus(section.file.size())?;
    }
    // If there is more room than needed, the run stays.
    let run_moves_by = at.aligned_up(8)?.since(run_start).unwrap_or(0);
    let stays = FileSpan::around(staying.iter().map(|section| section.file)).unwrap_or_default();
    Ok(Some(Preface { stays, moved: going, run_moves_by }))
}

/// All of them move by the growth of the headers.
fn all_further(file: &ElfFile<'_>, sections: &[Moved], size: u64) -> Result<Option<Preface>, Refusal> {
    if !sections.iter().all(|section| may_move(file, section.section)) {
        return Ok(None);
    }
    let alignments = sections.iter().filter_map(|section| file.sections().get(section.section));
    let largest = alignments.map(|section| section.header.alignment).max().unwrap_or(1).max(8);
    let by = FileOffset(size).aligned_up(largest)?.0;
    let moved = sections.iter().map(|section| Moved { by, ..*section }).collect();
    Ok(Some(Preface { stays: FileSpan::default(), moved, run_moves_by: by }))
}

fn is_note(file: &ElfFile<'_>, section: usize) -> bool {
    file.sections().get(section).is_some_and(|section| section.header.kind == SectionKind::Note)
}

/// Whether only program headers refer to a section: the interpreter path, or notes of GNU tools.
fn may_move(file: &ElfFile<'_>, section: usize) -> bool {
    let Some(section) = file.sections().get(section) else { return false };
    if section.header.alignment > FIRST_PAGE || section.header.is_writable() || section.header.is_executable() {
        return false;
    }
    if section.header.kind != SectionKind::Note {
        let path = file.segment(SegmentKind::Interpreter);
        return path
            .is_some_and(|path| path.address == section.header.address && path.file_size == section.header.size);
    }
    let Ok(bytes) = file.section_bytes(&section.header) else { return false };
    let alignment = section.header.alignment;
    Notes::new(bytes, section.header.offset, alignment, file.encoding())
        .is_ok_and(|mut notes| notes.all(|note| note.is_ok_and(|note| note.name == b"GNU" || note.name == b"FDO")))
}

/// Whether each note segment still contains the same notes: all of its sections move equally far, or the order of its
/// notes is free because none needs padding.
fn keeps_notes(file: &ElfFile<'_>, preface: &Preface) -> Result<bool, Refusal> {
    let of_notes = |segment: &&Segment| matches!(segment.kind, SegmentKind::Note | SegmentKind::Property);
    for segment in file.segments().iter().filter(of_notes) {
        let mut places = Vec::new();
        for (number, header) in inside(file, segment) {
            let moved = preface.moved.iter().find(|moved| moved.section == number);
            let by = moved.map_or(0, |moved| moved.by);
            places.push((VaddrSpan::new(header.address.plus(by)?, header.size)?, by));
        }
        let together = places.windows(2).all(|pair| matches!(pair, [one, next] if one.1 == next.1));
        let whole = VaddrSpan::around(places.iter().map(|place| place.0)).unwrap_or_default();
        if !together && (segment.alignment > 4 || whole.size() != segment.memory_size) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sections with bytes that a segment holds, by their numbers.
fn inside<'f>(file: &'f ElfFile<'_>, segment: &'f Segment) -> impl Iterator<Item = (usize, &'f SectionHeader)> {
    let headers = file.sections().iter().map(|section| &section.header).enumerate();
    headers.filter(|(_, header)| header.is_loaded() && header.file_size() > 0 && segment.contains(header.address))
}

/// Updates the header of a segment with moved sections; returns whether it was one.
pub(crate) fn follow_preface(
    file: &ElfFile<'_>,
    preface: Option<&Preface>,
    number: usize,
    raw: &mut [u8],
) -> Result<bool, Refusal> {
    let Some(preface) = preface.filter(|preface| !preface.moved.is_empty()) else { return Ok(false) };
    let Some(segment) = file.segments().get(number) else { return Ok(false) };
    if matches!(segment.kind, SegmentKind::Load | SegmentKind::ProgramHeaders | SegmentKind::Stack) {
        return Ok(false);
    }
    let encoding = file.encoding();
    let mut spans = Vec::new();
    let mut has_moved = false;
    for (number, header) in inside(file, segment) {
        let moved = preface.moved.iter().find(|moved| moved.section == number);
        has_moved |= moved.is_some();
        let start = moved.map_or(Ok(header.address), Moved::new_address)?;
        spans.push(VaddrSpan::new(start, header.size)?);
    }
    let Some(span) = VaddrSpan::around(spans).filter(|_| has_moved) else { return Ok(false) };
    // The three fields move together, perhaps backwards: modulo the word size.
    let shift = span.start().0.wrapping_sub(segment.address.0);
    for address in [field::ADDRESS, field::PHYSICAL_ADDRESS, field::OFFSET] {
        let moved = address.word(raw, encoding).wrapping_add(shift);
        address.set_word(raw, encoding, moved);
    }
    field::FILE_SIZE.set_word(raw, encoding, span.size());
    field::MEMORY_SIZE.set_word(raw, encoding, span.size());
    Ok(true)
}

/// The data between the larger program headers and the run's new start.
pub(crate) fn preface_pieces(
    preface: &Preface,
    headers_end: FileOffset,
    run_start: FileOffset,
) -> Result<Vec<Piece>, Refusal> {
    let mut parts = vec![(preface.stays.start(), preface.stays)];
    for moved in &preface.moved {
        parts.push((moved.new_offset()?, moved.file));
    }
    let mut at = headers_end;
    let mut pieces = Vec::new();
    for (place, range) in parts.into_iter().filter(|(_, range)| !range.is_empty()) {
        pieces.extend(zeros(at, place)?);
        at = place.plus(range.size())?;
        pieces.push(Piece::Copy(range));
    }
    pieces.extend(zeros(at, run_start)?);
    Ok(pieces)
}
