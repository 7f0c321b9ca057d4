//! The parts of a file that an edit may move, and how: what `pack` and `bind` share.
//!
//! | part | file |
//! |---|---|
//! | tables that only the dynamic table points to | `tables.rs` |
//! | what is between the program headers and them | `preface.rs` |
//! | symbols that name what moved | `symbols.rs` |
//! | what is not loaded, and the section headers | `tail.rs` |

pub(crate) mod preface;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod tail;

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Position, PositionError, SectionHeader, SectionKind, Vaddr};

use crate::refusal::Refusal;
use crate::script::Piece;

/// The unit in which file systems hand out blocks, and memory is mapped on most machines.
pub(crate) const PAGE: u64 = 4096;

/// Refuses files without sections, with sections after their end, and with segments that overlap or are out of order.
pub(crate) fn check_parts(file: &ElfFile<'_>) -> Result<(), Refusal> {
    if file.sections().is_empty() {
        return Err(match file.section_problem() {
            Some(problem) => Refusal::SectionsLie(problem.to_string()),
            None => Refusal::NoSections,
        });
    }
    for (number, section) in file.sections().iter().enumerate() {
        let is_inside = section.header.file_span().is_ok_and(|span| span.end().0 <= file.size());
        if section.header.file_size() > 0 && !is_inside {
            return Err(Refusal::SectionsLie(format!("the file's size: section {number} ends behind it")));
        }
    }
    let mut end = Vaddr(0);
    for segment in file.load_segments() {
        if segment.address < end {
            return Err(Refusal::Layout(format!("its segments overlap or are out of order at {}", segment.address)));
        }
        end = segment.memory_span()?.end();
    }
    Ok(())
}

/// Where the program headers are in the file.
pub(crate) fn program_header_range(file: &ElfFile<'_>) -> Result<FileSpan, Refusal> {
    records(file.header().segments_offset, file.header().segment_entry_size, file.segments().len())
}

/// Where the section headers are in the file.
pub(crate) fn section_header_range(file: &ElfFile<'_>) -> Result<FileSpan, Refusal> {
    records(file.header().sections_offset, file.header().section_entry_size, file.sections().len())
}

/// Where `count` records of a size are that begin at a place.
pub(crate) fn records(start: FileOffset, size: u16, count: usize) -> Result<FileSpan, Refusal> {
    let size = u64::from(size).checked_mul(count as u64);
    let size =
        size.ok_or_else(|| Refusal::Layout(format!("{count} records from file offset {start} on do not fit")))?;
    Ok(FileSpan::new(start, size)?)
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

/// Zeros from one place of the new file up to another, as a piece; none if they are the same.
///
/// # Errors
/// If something is there already: `to` is before `from`.
pub(crate) fn zeros<P: Position>(from: P, to: P) -> Result<Option<Piece>, Refusal> {
    let size = to.since(from)?;
    let bytes = usize::try_from(size).map_err(|_| PositionError::Overflow {
        kind: P::KIND,
        start: from.number(),
        bytes: size,
    })?;
    Ok((bytes > 0).then(|| Piece::Bytes(vec![0; bytes])))
}
