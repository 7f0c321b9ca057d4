//! Notes: small named pieces of data for tools, the kernel and the loader.
//!
//! Notes are in segments and in sections, and neither has all of them: stripped files may have no sections, and
//! SystemTap probes are in no segment. The padding between notes depends on the alignment of the segment or section,
//! not on the file's class: notes in 64-bit files are 4-byte aligned, except for one kind.

use std::collections::BTreeMap;

use crate::address::FileOffset;
use crate::debug_file::is_debug_file;
use crate::encoding::Encoding;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::section::SectionKind;
use crate::segment::SegmentKind;

const NAME: &str = "the notes";
/// Size of the name, size of the description, kind: 4 bytes each, in both classes.
const HEADER_SIZE: u64 = 12;

/// A note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'data> {
    /// Its owner, such as `GNU`: the name up to the first zero.
    pub name: &'data [u8],
    /// The name as stored, including zeros. Annobin notes (`GA!...`) continue with data after the first zero.
    pub whole_name: &'data [u8],
    /// Its type; each owner has its own numbering.
    pub kind: u32,
    /// Its description.
    pub description: &'data [u8],
    /// Its file offset.
    pub offset: FileOffset,
    /// File offset of its description.
    pub description_offset: FileOffset,
}

/// The notes in a segment or section, in order. Iteration ends at an error.
#[derive(Clone, Debug)]
pub struct Notes<'data> {
    bytes: &'data [u8],
    file_offset: FileOffset,
    encoding: Encoding,
    alignment: u64,
    /// Offset of the next note in `bytes`.
    position: u64,
}

impl<'data> Notes<'data> {
    /// The notes in `bytes`, which begin at `file_offset` in the file.
    ///
    /// # Errors
    /// If `alignment` (`p_align` or `sh_addralign`) is above 4 and not 8. Smaller values count as 4, as in glibc
    /// (`elf/dl-load.c`) and readelf.
    pub fn new(bytes: &'data [u8], file_offset: FileOffset, alignment: u64, encoding: Encoding) -> Result<Self> {
        let alignment = match alignment {
            0..=4 => 4,
            8 => 8,
            _ => {
                let problem = "note alignment is neither 4 nor 8 bytes";
                return Err(ElfError::Malformed { table: NAME, offset: file_offset, problem });
            }
        };
        Ok(Self { bytes, file_offset, encoding, alignment, position: 0 })
    }

    fn read(&mut self) -> Result<Note<'data>> {
        let start = self.position;
        let offset = self.place(start);
        let name_start = start.saturating_add(HEADER_SIZE);
        let number =
            |at: u64| slice(self.bytes, start.saturating_add(at), 4).and_then(|bytes| self.encoding.u32(bytes));
        let (Some(name_size), Some(size), Some(kind)) = (number(0), number(4), number(8)) else {
            return Err(ElfError::Malformed { table: NAME, offset, problem: "the last note's header is truncated" });
        };
        // Padding is relative to the note's own start (glibc, `ELF_NOTE_DESC_OFFSET`).
        let after_name = HEADER_SIZE.saturating_add(name_size.into());
        let description_start = start.saturating_add(after_name.next_multiple_of(self.alignment));
        let name = slice(self.bytes, name_start, name_size.into());
        let description = slice(self.bytes, description_start, size.into());
        // A note without a description may end with its name, without padding.
        let description = if size == 0 { Some(Default::default()) } else { description };
        let (Some(name), Some(description)) = (name, description) else {
            let problem = "the note's name or description extends past the end of the notes";
            return Err(ElfError::Malformed { table: NAME, offset, problem });
        };
        let distance = description_start.saturating_sub(start).saturating_add(size.into());
        self.position = start.saturating_add(distance.next_multiple_of(self.alignment));
        Ok(Note {
            name: name.split(|byte| *byte == 0).next().unwrap_or_default(),
            whole_name: name,
            kind,
            description,
            offset,
            description_offset: self.place(description_start),
        })
    }

    fn place(&self, position: u64) -> FileOffset {
        FileOffset(self.file_offset.0.saturating_add(position))
    }
}

impl<'data> Iterator for Notes<'data> {
    type Item = Result<Note<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let size = self.bytes.len() as u64;
        if self.position >= size {
            return None;
        }
        let note = self.read();
        if note.is_err() {
            self.position = size;
        }
        Some(note)
    }
}

fn slice(bytes: &[u8], start: u64, size: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(start).ok()?..)?.get(..usize::try_from(size).ok()?)
}

/// All notes of a file: those of its segments, then those of sections outside these segments. Relocatable and debug
/// files have notes in sections only. An error ends the notes of one segment or section, not of the next ones.
pub fn notes<'data>(file: &ElfFile<'data>) -> impl Iterator<Item = Result<Note<'data>>> + use<'data> {
    let (bytes, encoding, size) = (file.bytes(), file.encoding(), file.size());
    note_ranges(file).into_iter().flat_map(move |place| {
        let out_of_file =
            ElfError::OutOfFile { table: NAME, offset: place.offset, needed: place.size, available: size };
        let found = slice(bytes, place.offset.0, place.size).ok_or(out_of_file);
        let (notes, problem) = match found.and_then(|found| Notes::new(found, place.offset, place.alignment, encoding))
        {
            Ok(notes) => (Some(notes), None),
            Err(problem) => (None, Some(Err(problem))),
        };
        notes.into_iter().flatten().chain(problem)
    })
}

/// A range of notes in the file.
#[derive(Clone, Copy)]
struct NoteRange {
    offset: FileOffset,
    size: u64,
    alignment: u64,
}

fn note_ranges(file: &ElfFile<'_>) -> Vec<NoteRange> {
    // The segment headers of a debug file refer to offsets in the other file.
    let segments = if is_debug_file(file) { &[] } else { file.segments() };
    let in_segments = segments.iter().filter(|segment| segment.kind == SegmentKind::Note).map(|segment| NoteRange {
        offset: segment.offset,
        size: segment.file_size,
        alignment: segment.alignment,
    });
    let in_sections = file
        .sections()
        .iter()
        .map(|section| &section.header)
        .filter(|section| section.kind == SectionKind::Note)
        .map(|section| NoteRange { offset: section.offset, size: section.size, alignment: section.alignment });
    // Ranges that overlap an earlier one are skipped. So sections in segments are not listed twice, and a hostile
    // file cannot have the same bytes read once per header.
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    let mut places = Vec::new();
    for place in in_segments.chain(in_sections).filter(|place| place.size > 0) {
        let end = place.offset.0.saturating_add(place.size);
        let overlaps = taken.range(..end).next_back().is_some_and(|(_, other_end)| *other_end > place.offset.0);
        if !overlaps {
            taken.insert(place.offset.0, end);
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests;
