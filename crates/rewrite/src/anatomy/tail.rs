//! The end of the file: sections that are not loaded, our note, and the section headers.
//!
//! Only the part after the last loaded byte is laid out anew. A program with a payload after all sections (an
//! archive, a script) finds it by its file offset, so such a file is refused.

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Position};

use super::{PAGE, check_alignment, program_header_range, section_header_range, zeros};
use crate::layout::part;
use crate::refusal::Refusal;
use crate::script::Piece;

/// The new end of a file, up to the note.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Its start in the original.
    pub(crate) from: FileOffset,
    /// Its contents in the new file.
    pub(crate) pieces: Vec<Piece>,
    /// New offsets of sections by index, for those that moved independently.
    pub(crate) places: Vec<(usize, FileOffset)>,
    /// Offset of the added names in the section names.
    pub(crate) added_names: u32,
    /// New size of the section names.
    pub(crate) names_size: u64,
    /// End of all of it, as a file offset.
    pub(crate) end: FileOffset,
}

impl Tail {
    /// The new offset of the section at an offset, if it is one of these.
    pub(crate) fn place_of(&self, file: &ElfFile<'_>, offset: FileOffset) -> Option<FileOffset> {
        let begins = |number: usize| file.sections().get(number).is_some_and(|section| section.header.offset == offset);
        self.places.iter().find(|(number, _)| begins(*number)).map(|(_, place)| *place)
    }
}

/// A range after all loaded data: a section with its index, or the section headers.
struct Item {
    span: FileSpan,
    section: Option<usize>,
    alignment: u64,
}

/// Lays out the end of the file.
///
/// It begins at `start` in the new file; data before `behind` in the original is not part of it. Section number
/// `names` contains the names, and `added` is appended to it.
///
/// # Errors
/// If a section straddles the end of the loaded data, sections overlap, or bytes belong to no section.
pub(crate) fn lay_out(
    file: &ElfFile<'_>,
    names: usize,
    behind: FileOffset,
    start: impl Fn(FileOffset) -> Result<FileOffset, Refusal>,
    added: &[u8],
) -> Result<Tail, Refusal> {
    let headers = section_header_range(file)?;
    let from = loaded_end(file)?.max(behind);
    let items = items(file, from, headers)?;
    check_payload(file, from, &items)?;
    let names_span = match file.sections().get(names) {
        Some(section) => FileSpan::new(section.header.offset, section.header.size)?,
        None => return Err(Refusal::SectionsLie("the number of the section names".to_owned())),
    };
    let start = start(from)?;
    let added_names = u32::try_from(names_span.size());
    let too_long = || Refusal::SectionsLie("the size of the section names".to_owned());
    let mut tail = Tail {
        from,
        pieces: Vec::new(),
        places: Vec::new(),
        added_names: added_names.map_err(|_| too_long())?,
        names_size: FileOffset(names_span.size()).plus(added.len() as u64)?.0,
        end: start,
    };
    for item in &items {
        check_alignment(item.alignment)?;
        if let Some(number) = item.section {
            tail.push(item.span, number, item.alignment, if number == names { added } else { &[] })?;
        }
    }
    if names_span.start() < from {
        tail.push(names_span, names, 1, added)?;
    }
    Ok(tail)
}

impl Tail {
    /// Puts a section at the next place, with bytes of its own after the old ones.
    fn push(&mut self, span: FileSpan, number: usize, alignment: u64, added: &[u8]) -> Result<(), Refusal> {
        let place = self.end.aligned_up(alignment)?;
        self.pieces.extend(zeros(self.end, place)?);
        self.pieces.push(Piece::Copy(span));
        self.places.push((number, place));
        self.end = place.plus(span.size())?;
        if !added.is_empty() {
            self.end = self.end.plus(added.len() as u64)?;
            self.pieces.push(Piece::Bytes(added.to_vec()));
        }
        Ok(())
    }
}

/// The first file offset behind everything that is loaded.
pub(crate) fn loaded_end(file: &ElfFile<'_>) -> Result<FileOffset, Refusal> {
    let mut end = FileOffset(0);
    for load in file.load_segments() {
        end = end.max(load.file_span()?.end());
    }
    Ok(end)
}

/// The data from an offset on, in order.
fn items(file: &ElfFile<'_>, from: FileOffset, headers: FileSpan) -> Result<Vec<Item>, Refusal> {
    let mut items = Vec::new();
    for (number, section) in file.sections().iter().enumerate() {
        let span = section.header.file_span()?;
        if span.is_empty() || span.end() <= from {
            continue;
        }
        if span.start() < from {
            return Err(Refusal::SectionsLie(format!("the segments: section {number} is loaded in part")));
        }
        items.push(Item { span, section: Some(number), alignment: section.header.alignment });
    }
    if headers.start() >= from {
        items.push(Item { span: headers, section: None, alignment: 1 });
    }
    items.sort_by_key(|item| item.span.key());
    Ok(items)
}

/// Refuses bytes at the end that belong to no section.
fn check_payload(file: &ElfFile<'_>, from: FileOffset, items: &[Item]) -> Result<(), Refusal> {
    let mut at = from;
    let end = FileSpan::new(FileOffset(file.size()), 0)?;
    for span in items.iter().map(|item| item.span).chain([end]) {
        let gap = FileSpan::between(at, span.start());
        let gap = gap.map_err(|_| Refusal::SectionsLie(format!("one another at file offset {}", span.start())))?;
        check_zeros(file, gap)?;
        at = span.end();
    }
    Ok(())
}

/// Refuses bytes between the loaded parts that belong to no section. The rest of a page is the linker's: lld fills it
/// with traps.
/// traps.
pub(crate) fn check_gaps(file: &ElfFile<'_>) -> Result<(), Refusal> {
    let mut owned = vec![FileSpan::first(64), program_header_range(file)?, section_header_range(file)?];
    for section in file.sections() {
        owned.push(section.header.file_span()?);
    }
    for load in file.load_segments() {
        let span = load.file_span()?;
        let end = span.end().aligned_up(load.alignment.max(PAGE))?;
        owned.push(FileSpan::between(span.start().aligned_down(PAGE), end)?);
    }
    owned.retain(|span| !span.is_empty());
    owned.sort_unstable_by_key(FileSpan::key);
    let mut at = FileOffset(0);
    for span in owned {
        if span.start() > at {
            check_zeros(file, FileSpan::between(at, span.start())?)?;
        }
        at = at.max(span.end());
    }
    let size = FileOffset(file.size());
    check_zeros(file, FileSpan::between(at.min(size), size)?)
}

/// Refuses nonzero bytes of the file as an unknown payload.
pub(crate) fn check_zeros(file: &ElfFile<'_>, range: FileSpan) -> Result<(), Refusal> {
    let bytes = part(file.bytes(), range).unwrap_or(&[]);
    match bytes.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => {
            let offset = range.start().plus(at as u64)?;
            Err(Refusal::Payload { offset, size: range.end().since(offset)? })
        }
    }
}
