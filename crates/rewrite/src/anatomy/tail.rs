//! The end of the file: sections that are not loaded, our note, and the section headers.
//!
//! Only what lies behind the last loaded byte is laid out anew. A program with a payload behind all sections (an archive,
//! a script) finds it by its place in the file, so such a file is not touched.

use std::ops::Range;

use coldstart_elf::{ElfFile, FileOffset, SectionHeader};

use super::{PAGE, check_alignment, program_header_range, zeros};
use crate::layout::{align_down, align_up, part};
use crate::refusal::Refusal;
use crate::script::Piece;

/// The laid out end of a file, up to the note.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Where in the original the end begins.
    pub(crate) from: u64,
    /// What stands there in the new file.
    pub(crate) pieces: Vec<Piece>,
    /// Where sections are now, by their number: those that moved otherwise than everything else.
    pub(crate) places: Vec<(usize, u64)>,
    /// Where in the section names the added ones begin.
    pub(crate) added_names: u64,
    /// Size of the section names now.
    pub(crate) names_size: u64,
    /// The file offset behind all of it.
    pub(crate) end: u64,
}

impl Tail {
    /// The new place of the section that begins at an offset, if it is one of these.
    pub(crate) fn place_of(&self, file: &ElfFile<'_>, offset: u64) -> Option<u64> {
        let begins =
            |number: usize| file.sections().get(number).is_some_and(|section| section.header.offset.0 == offset);
        self.places.iter().find(|(number, _)| begins(*number)).map(|(_, place)| *place)
    }
}

/// Lays the end of the file out anew.
/// It begins at `start` in the new file; what stands before `behind` in the original is not part of it. Section number
/// `names` holds the names, to which `added` come.
pub(crate) fn lay_out(
    file: &ElfFile<'_>,
    names: usize,
    behind: u64,
    start: impl Fn(u64) -> u64,
    added: &[u8],
) -> Result<Tail, Refusal> {
    let headers = section_headers(file);
    let loaded_end = file.load_segments().map(|load| load.offset.0.saturating_add(load.file_size)).max().unwrap_or(0);
    let from = loaded_end.max(behind);
    let crosses = |header: &SectionHeader| {
        header.file_size() > 0 && header.offset.0 < from && header.offset.0.saturating_add(header.size) > from
    };
    if let Some(number) = file.sections().iter().position(|section| crosses(&section.header)) {
        return Err(Refusal::SectionsLie(format!("the segments: section {number} is loaded in part")));
    }
    let mut items: Vec<(Range<u64>, Option<usize>, u64)> = file
        .sections()
        .iter()
        .enumerate()
        .map(|(number, section)| (number, &section.header))
        .filter(|(_, header)| header.file_size() > 0 && header.offset.0 >= from)
        .map(|(number, header)| {
            let range = header.offset.0..header.offset.0.saturating_add(header.size);
            (range, Some(number), header.alignment)
        })
        .collect();
    if headers.start >= from {
        items.push((headers.clone(), None, 1));
    }
    items.sort_by_key(|(range, ..)| (range.start, range.end));
    check_payload(file, from, &items)?;
    let names_header = file.sections().get(names).map(|section| section.header);
    let names_header =
        names_header.ok_or_else(|| Refusal::SectionsLie("the number of the section names".to_owned()))?;
    let mut at = start(from);
    let start = at;
    let mut tail = Tail {
        from,
        pieces: Vec::new(),
        places: Vec::new(),
        added_names: names_header.size,
        names_size: names_header.size.saturating_add(added.len() as u64),
        end: at,
    };
    let mut push = |tail: &mut Tail, range: &Range<u64>, number: usize, alignment: u64| {
        let place = align_up(at, alignment);
        tail.pieces.extend(zeros(place.saturating_sub(at)));
        tail.pieces.push(Piece::Copy(range.clone()));
        tail.places.push((number, place));
        at = place.saturating_add(range.end.saturating_sub(range.start));
        if number == names {
            at = at.saturating_add(added.len() as u64);
            tail.pieces.push(Piece::Bytes(added.to_vec()));
        }
    };
    for (range, number, alignment) in &items {
        check_alignment(*alignment)?;
        if let Some(number) = number {
            push(&mut tail, range, *number, *alignment);
        }
    }
    if names_header.offset.0 < from {
        let range = names_header.offset.0..names_header.offset.0.saturating_add(names_header.size);
        push(&mut tail, &range, names, 1);
    }
    let size = tail.pieces.iter().map(Piece::size).fold(0, u64::saturating_add);
    tail.end = start.saturating_add(size);
    Ok(tail)
}

/// Where the section headers are in the file.
pub(crate) fn section_headers(file: &ElfFile<'_>) -> Range<u64> {
    let start = file.header().sections_offset.0;
    let size = u64::from(file.header().section_entry_size).saturating_mul(file.sections().len() as u64);
    start..start.saturating_add(size)
}

/// Refuses bytes at the end that belong to nothing.
fn check_payload(file: &ElfFile<'_>, from: u64, items: &[(Range<u64>, Option<usize>, u64)]) -> Result<(), Refusal> {
    let mut at = from;
    let bounds = items.iter().map(|(range, ..)| (range.start, range.end));
    for (start, end) in bounds.chain([(file.size(), file.size())]) {
        if start < at {
            return Err(Refusal::SectionsLie(format!("one another at file offset {start:#x}")));
        }
        check_zeros(file, at..start)?;
        at = end;
    }
    Ok(())
}

/// Refuses bytes between the loaded parts that belong to nothing. The rest of a page is the linker's: lld fills it with
/// traps.
pub(crate) fn check_gaps(file: &ElfFile<'_>) -> Result<(), Refusal> {
    let headers = [program_header_range(file), section_headers(file)];
    let mut owned: Vec<(u64, u64)> = vec![(0, 64)];
    owned.extend(headers.map(|headers| (headers.start, headers.end)));
    for section in file.sections() {
        let header = &section.header;
        owned.push((header.offset.0, header.offset.0.saturating_add(header.file_size())));
    }
    for load in file.load_segments() {
        let end = load.offset.0.saturating_add(load.file_size);
        owned.push((align_down(load.offset.0, PAGE), align_up(end, load.alignment.max(PAGE))));
    }
    owned.retain(|(start, end)| start < end);
    owned.sort_unstable();
    let mut at = 0;
    for (start, end) in owned {
        if start > at {
            check_zeros(file, at..start)?;
        }
        at = at.max(end);
    }
    check_zeros(file, at.min(file.size())..file.size())
}

/// Refuses bytes of the file that are not zero, as somebody's payload.
pub(crate) fn check_zeros(file: &ElfFile<'_>, range: Range<u64>) -> Result<(), Refusal> {
    let bytes = part(file.bytes(), range.clone()).unwrap_or(&[]);
    match bytes.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => {
            let offset = range.start.saturating_add(at as u64);
            Err(Refusal::Payload { offset: FileOffset(offset), size: range.end.saturating_sub(offset) })
        }
    }
}
