//! The parts of a file that an edit may move, and how: what `pack` and `bind` share.
//!
//! | part | file |
//! |---|---|
//! | tables that only the dynamic table points to | `tables.rs` |
//! | what lies between the program headers and them | `preface.rs` |
//! | symbols that name what moved | `symbols.rs` |
//! | what is not loaded, and the section headers | `tail.rs` |

pub(crate) mod preface;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod tail;

use std::ops::Range;

use coldstart_elf::{ElfFile, SectionHeader, SectionKind};

use crate::refusal::Refusal;
use crate::script::Piece;

/// The unit in which file systems hand out blocks, and memory is mapped on most machines.
pub(crate) const PAGE: u64 = 4096;

/// Refuses files without sections, with sections behind their end, and with segments that overlap or are out of order.
pub(crate) fn check_parts(file: &ElfFile<'_>) -> Result<(), Refusal> {
    if file.sections().is_empty() {
        return Err(match file.section_problem() {
            Some(problem) => Refusal::SectionsLie(problem.to_string()),
            None => Refusal::NoSections,
        });
    }
    let past_end = |header: &SectionHeader| {
        header.file_size() > 0 && header.offset.0.checked_add(header.size).is_none_or(|end| end > file.size())
    };
    if let Some(number) = file.sections().iter().position(|section| past_end(&section.header)) {
        return Err(Refusal::SectionsLie(format!("the file's size: section {number} ends behind it")));
    }
    let mut end = 0;
    for segment in file.load_segments() {
        if segment.address.0 < end {
            return Err(Refusal::Layout(format!("its segments overlap or are out of order at {}", segment.address)));
        }
        end = segment.end().0;
    }
    Ok(())
}

/// Where the program headers are in the file.
pub(crate) fn program_header_range(file: &ElfFile<'_>) -> Range<u64> {
    let start = file.header().segments_offset.0;
    let size = u64::from(file.header().segment_entry_size).saturating_mul(file.segments().len() as u64);
    start..start.saturating_add(size)
}

/// The number of the section with the sections' names.
pub(crate) fn names_section(file: &ElfFile<'_>) -> Result<usize, Refusal> {
    let number = usize::from(file.header().section_names_index);
    // With more than 65,279 sections numbers stand elsewhere.
    let plain = usize::from(file.header().section_count) == file.sections().len() && file.sections().len() < 0xfe00;
    let is_names = |header: &SectionHeader| header.kind == SectionKind::Strings && !header.is_loaded();
    match file.sections().get(number) {
        Some(section) if plain && is_names(&section.header) => Ok(number),
        _ => Err(Refusal::SectionsLie("the number of the section names".to_owned())),
    }
}

/// The ELF header's bytes.
pub(crate) fn first_bytes<'data>(file: &ElfFile<'data>) -> &'data [u8] {
    let size = if file.encoding().word_size() == 4 { 52 } else { 64 };
    file.bytes().get(..size).unwrap_or(&[])
}

/// Refuses what would fill the file with padding.
pub(crate) fn check_alignment(alignment: u64) -> Result<(), Refusal> {
    if alignment > PAGE {
        return Err(Refusal::Layout(format!("a section that would move is aligned to {alignment} bytes")));
    }
    Ok(())
}

/// A few zeros, as a piece.
pub(crate) fn zeros(size: u64) -> Option<Piece> {
    let size = usize::try_from(size).ok().filter(|size| *size > 0)?;
    Some(Piece::Bytes(vec![0; size]))
}
