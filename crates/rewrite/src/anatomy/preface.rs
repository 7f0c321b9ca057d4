//! What lies between the program headers and the tables, and how it makes room for one more program header.
//!
//! The program headers cannot move: GNU strip silently breaks a program whose table is anywhere else. They can grow where
//! they are if what follows gives way: the path of the loader and GNU's notes, to which only program headers point.
//! Notes of others may be known to their programs by address (crashpad's is) and stay.

use std::ops::Range;

use coldstart_elf::{ElfFile, Notes, SectionKind, Segment, SegmentKind};

use super::tables::{FrontRun, is_filler};
use super::tail::section_headers;
use super::zeros;
use crate::layout::{align_up, program_header as field};
use crate::script::Piece;

/// Core dumps keep the first page of a file for the sake of the build id (kernel, `fs/coredump.c`).
const FIRST_PAGE: u64 = 4096;

/// A section that gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Its number.
    pub(crate) section: usize,
    /// Address and file offset before; it is in the file's first part, so both grow alike.
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// How far it goes.
    pub(crate) by: u64,
}

/// The way to a larger table of program headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preface {
    /// The file range of the sections that stay where they are.
    pub(crate) stays: Range<u64>,
    /// Sections that give way, in the order in which they stand afterwards.
    pub(crate) moved: Vec<Moved>,
    /// How far the run of tables must begin later than before.
    pub(crate) run_moves_by: u64,
}

/// How the program headers can grow by `size` bytes; `None` if they cannot.
pub(crate) fn give_way(file: &ElfFile<'_>, run: &FrontRun, headers_end: u64, size: u64) -> Option<Preface> {
    let run_range = run.file_range();
    let wanted_end = headers_end.checked_add(size)?;
    if headers_end > run_range.start {
        return None;
    }
    // Go's linker puts the section headers there, where a program might read them in memory.
    let section_headers = section_headers(file);
    if section_headers.start < wanted_end && section_headers.end > headers_end {
        return None;
    }
    let mut sections: Vec<Moved> = Vec::new();
    for (number, section) in file.sections().iter().enumerate() {
        let header = &section.header;
        let is_between = header.offset.0 < run_range.start && header.offset.0.saturating_add(header.size) > headers_end;
        if header.file_size() == 0 || !is_between {
            continue;
        }
        if !header.is_loaded() || header.offset.0 < headers_end {
            return None;
        }
        let place = (header.address.0, header.offset.0);
        sections.push(Moved { section: number, address: place.0, offset: place.1, size: header.size, by: 0 });
    }
    sections.sort_by_key(|section| section.offset);
    let first = sections.first().map_or(run_range.start, |first| first.offset);
    if first >= wanted_end {
        let stays = wanted_end..run_range.start;
        return is_filler(file, headers_end..wanted_end).then(|| Preface { stays, ..Preface::default() });
    }
    // Other bytes there that belong to no section belong to somebody else.
    let mut at = headers_end;
    let ends = sections.iter().map(|section| (section.offset, section.offset.saturating_add(section.size)));
    for (start, end) in ends.chain([(run_range.start, run_range.end)]) {
        if !is_filler(file, at..start) {
            return None;
        }
        at = end;
    }
    if sections.is_empty() {
        let alignment = run.tables.first().map_or(1, |table| table.alignment);
        let by = align_up(wanted_end.saturating_sub(run_range.start), alignment.max(8));
        return Some(Preface { run_moves_by: by, ..Preface::default() });
    }
    let ways = [to_the_back(file, &sections, wanted_end, run_range.start), all_further(file, &sections, size)];
    ways.into_iter().flatten().find(|preface| keeps_notes(file, preface) && preface.run_moves_by < FIRST_PAGE)
}

/// Those that stand in the way go behind the others.
fn to_the_back(file: &ElfFile<'_>, sections: &[Moved], wanted_end: u64, run_start: u64) -> Option<Preface> {
    let (mut going, staying): (Vec<Moved>, Vec<Moved>) =
        sections.iter().partition(|section| section.offset < wanted_end);
    if !going.iter().all(|section| may_move(file, section.section)) {
        return None;
    }
    // The path of the loader last, so that notes stay beside notes.
    going.sort_by_key(|section| is_note(file, section.section) as u8 ^ 1);
    let mut at = staying.last().map_or(wanted_end, |last| last.offset.saturating_add(last.size));
    for section in &mut going {
        let alignment = file.sections().get(section.section)?.header.alignment;
        at = align_up(at, alignment);
        section.by = at.checked_sub(section.offset)?;
        at = at.saturating_add(section.size);
    }
    let run_moves_by = align_up(at, 8).saturating_sub(run_start);
    Some(Preface { stays: range_of(&staying), moved: going, run_moves_by })
}

/// All of them go as far as the headers grow.
fn all_further(file: &ElfFile<'_>, sections: &[Moved], size: u64) -> Option<Preface> {
    if !sections.iter().all(|section| may_move(file, section.section)) {
        return None;
    }
    let alignments = sections.iter().filter_map(|section| file.sections().get(section.section));
    let by = align_up(size, alignments.map(|section| section.header.alignment).max().unwrap_or(1).max(8));
    let moved = sections.iter().map(|section| Moved { by, ..*section }).collect();
    Some(Preface { stays: 0..0, moved, run_moves_by: by })
}

/// From the first one's start to the last one's end; empty for none.
fn range_of(sections: &[Moved]) -> Range<u64> {
    let start = sections.first().map_or(0, |first| first.offset);
    start..sections.last().map_or(0, |last| last.offset.saturating_add(last.size))
}

fn is_note(file: &ElfFile<'_>, section: usize) -> bool {
    file.sections().get(section).is_some_and(|section| section.header.kind == SectionKind::Note)
}

/// Whether nothing but program headers point to a section: the loader's path, or notes that GNU tools make.
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

/// Whether each segment of notes still holds the same notes: all of its sections go equally far, or its notes can stand in
/// any order because none needs padding.
fn keeps_notes(file: &ElfFile<'_>, preface: &Preface) -> bool {
    let of_notes = |segment: &&Segment| matches!(segment.kind, SegmentKind::Note | SegmentKind::Property);
    file.segments().iter().filter(of_notes).all(|segment| {
        let inside = file.sections().iter().enumerate().filter(|(_, section)| {
            section.header.is_loaded() && section.header.file_size() > 0 && segment.contains(section.header.address)
        });
        let moved_by =
            |number: usize| preface.moved.iter().find(|moved| moved.section == number).map_or(0, |moved| moved.by);
        let places: Vec<(u64, u64, u64)> = inside
            .map(|(number, section)| {
                let by = moved_by(number);
                let start = section.header.address.0.saturating_add(by);
                (start, start.saturating_add(section.header.size), by)
            })
            .collect();
        let together = places.windows(2).all(|pair| matches!(pair, [one, next] if one.2 == next.2));
        let start = places.iter().map(|place| place.0).min().unwrap_or(0);
        let end = places.iter().map(|place| place.1).max().unwrap_or(0);
        together || (segment.alignment <= 4 && end.saturating_sub(start) == segment.memory_size)
    })
}

/// Moves the header of a segment whose sections gave way; whether it was one.
pub(crate) fn follow_preface(file: &ElfFile<'_>, preface: Option<&Preface>, number: usize, raw: &mut [u8]) -> bool {
    let Some(preface) = preface.filter(|preface| !preface.moved.is_empty()) else { return false };
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
pub(crate) fn preface_pieces(preface: &Preface, headers_end: u64, run_start: u64) -> Vec<Piece> {
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
