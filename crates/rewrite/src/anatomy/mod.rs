//! The parts of a file that an edit may move, for `pack` and `bind`.
//!
//! | part | file |
//! |---|---|
//! | tables that only the dynamic table points to | `tables.rs` |
//! | the sections between the program headers and these tables | `preface.rs` |
//! | symbols in moved sections | `symbols.rs` |
//! | data that is not loaded, and the section headers | `tail.rs` |

pub(crate) mod preface;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod tail;

use coldstart_elf::{
    ElfFile, FileOffset, FileSpan, Position, PositionError, RelocationForm, SectionHeader, SectionKind, Vaddr,
};

use crate::refusal::Refusal;
use crate::script::Piece;

/// The block size of file systems, and the page size of most machines.
pub(crate) const PAGE: u64 = 4096;

/// Refuses files without sections, with sections past their end, and with overlapping or unordered segments.
pub(crate) fn check_parts(file: &ElfFile<'_>) -> Result<(), Refusal> {
    if file.sections().is_empty() {
        return Err(match file.section_problem() {
            Some(problem) => Refusal::SectionsDamaged(problem.to_string()),
            None => Refusal::NoSections,
        });
    }
    for (number, section) in file.sections().iter().enumerate() {
        let is_inside = section.header.file_span().is_ok_and(|span| span.end().0 <= file.size());
        if section.header.file_size() > 0 && !is_inside {
            return Err(Refusal::SectionsLie(format!("the file's size: section {number} ends after it")));
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

/// File range of the program headers.
pub(crate) fn program_header_range(file: &ElfFile<'_>) -> Result<FileSpan, Refusal> {
    records(file.header().segments_offset, file.header().segment_entry_size, file.segments().len())
}

/// File range of the section headers.
pub(crate) fn section_header_range(file: &ElfFile<'_>) -> Result<FileSpan, Refusal> {
    records(file.header().sections_offset, file.header().section_entry_size, file.sections().len())
}

/// File range of `count` records of this size from an offset on.
pub(crate) fn records(start: FileOffset, size: u16, count: usize) -> Result<FileSpan, Refusal> {
    let size = u64::from(size).checked_mul(count as u64);
    let size = size
        .ok_or_else(|| Refusal::Layout(format!("{count} records at file offset {start} exceed the largest offset")))?;
    Ok(FileSpan::new(start, size)?)
}

/// The form of an architecture's relocations, and the type of its relative ones.
///
/// # Errors
/// If the architecture is not one of those whose files are packed.
pub(crate) fn relative_kind(machine: u16) -> Result<(RelocationForm, u32), Refusal> {
    Ok(match machine {
        62 => (RelocationForm::Rela, 8),
        183 => (RelocationForm::Rela, 1027),
        243 => (RelocationForm::Rela, 3),
        3 => (RelocationForm::Rel, 8),
        40 => (RelocationForm::Rel, 23),
        other => return Err(Refusal::Machine(other.to_string())),
    })
}

/// Index of the section with the section names.
pub(crate) fn names_section(file: &ElfFile<'_>) -> Result<usize, Refusal> {
    let number = usize::from(file.header().section_names_index);
    // With more than 65,279 sections the numbers are elsewhere.
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

/// Refuses alignments that would fill the file with padding.
pub(crate) fn check_alignment(alignment: u64) -> Result<(), Refusal> {
    if alignment > PAGE {
        return Err(Refusal::Layout(format!("a section to be moved is aligned to {alignment} bytes")));
    }
    Ok(())
}

/// Zeros from one place of the new file up to another, as a piece; none if they are the same.
///
/// # Errors
/// If there is already something: `to` is before `from`.
pub(crate) fn zeros<P: Position>(from: P, to: P) -> Result<Option<Piece>, Refusal> {
    let size = to.since(from)?;
    let bytes = usize::try_from(size).map_err(|_| PositionError::Overflow {
        kind: P::KIND,
        start: from.number(),
        bytes: size,
    })?;
    Ok((bytes > 0).then(|| Piece::Bytes(vec![0; bytes])))
}
