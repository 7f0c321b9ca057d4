//! The new section headers.
//!
//! Section headers must be correct: `strip`, `patchelf` and `objcopy` rewrite files from them, and drop or destroy
//! bytes outside sections.

use coldstart_elf::{ElfFile, SectionKind, Vaddr};

use super::place::Placed;
use super::room::{Shape, Slide};
use super::stub::{self, CODE_NAME, CodePlace, WORDS_NAME};
use crate::anatomy::preface::Moved;
use crate::anatomy::section_header_range;
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::Tail;
use crate::assembly::{ALLOC, NewSection};
use crate::layout::{part, section_header as field};
use crate::refusal::Refusal;

/// Name of the section of RELR.
pub(super) const RELR_NAME: &[u8] = b".relr.dyn";
/// `SHT_RELR`.
const RELR: u32 = 19;
/// `SHT_PROGBITS`.
const PROGRAM: u32 = 1;
/// `SHF_EXECINSTR`.
const EXECUTABLE: u64 = 4;

/// The inputs for the new headers.
pub(super) struct Moves<'a> {
    pub(super) shape: &'a Shape,
    pub(super) slide: Slide,
    pub(super) placed: &'a Placed,
    pub(super) tail: &'a Tail,
    pub(super) run: &'a FrontRun,
    /// Index of the section with the section names.
    pub(super) names: usize,
    /// Where the stub is.
    pub(super) stub: Option<CodePlace>,
}

/// The updated headers of the old sections.
pub(super) fn old_headers(file: &ElfFile<'_>, moves: &Moves<'_>) -> Result<Vec<u8>, Refusal> {
    let encoding = file.encoding();
    let mut bytes = part(file.bytes(), section_header_range(file)?).unwrap_or(&[]).to_vec();
    let size = usize::from(file.header().section_entry_size).max(1);
    for (number, (raw, section)) in bytes.chunks_exact_mut(size).zip(file.sections()).enumerate() {
        let header = &section.header;
        if header.kind == SectionKind::Null {
            continue;
        }
        if let Some(table) = moves.placed.of_section(number) {
            field::ADDRESS.set_word(raw, encoding, table.memory.start().0);
            field::OFFSET.set_word(raw, encoding, moves.run.offset_of(table.memory.start())?.0);
            field::SIZE.set_word(raw, encoding, table.memory.size());
        } else if let Some(moved) = preface_move(moves, number) {
            field::ADDRESS.set_word(raw, encoding, moved.new_address()?.0);
            field::OFFSET.set_word(raw, encoding, moved.new_offset()?.0);
        } else if let Some((_, place)) = moves.tail.places.iter().find(|(section, _)| *section == number) {
            field::OFFSET.set_word(raw, encoding, place.0);
        } else {
            field::OFFSET.set_word(raw, encoding, moves.slide.place(header.offset)?.0);
        }
        if number == moves.names {
            field::SIZE.set_word(raw, encoding, moves.tail.names_size);
        }
    }
    Ok(bytes)
}

/// The section of RELR, or those of the stub's words and of its code.
pub(super) fn new_sections(file: &ElfFile<'_>, moves: &Moves<'_>) -> Result<Vec<NewSection>, Refusal> {
    let word = file.encoding().word_size();
    if let (Some(place), Some(words)) = (moves.stub, moves.placed.relr()) {
        let section = |name: &[u8], flags, memory, offset, alignment| NewSection {
            name: name.to_vec(),
            kind: PROGRAM,
            flags,
            memory,
            offset,
            alignment,
            entry_size: 0,
        };
        let code_at = match &place.grows {
            Some(growth) => growth.offset(file, &place, &moves.slide)?,
            None => moves.run.offset_of(place.memory.start())?,
        };
        let words_at = moves.run.offset_of(words.memory.start())?;
        return Ok(vec![
            section(WORDS_NAME, ALLOC, words.memory, words_at, word),
            section(CODE_NAME, ALLOC | EXECUTABLE, place.memory, code_at, stub::ALIGNMENT),
        ]);
    }
    let relr = moves.placed.relr().map(|table| {
        Ok(NewSection {
            name: RELR_NAME.to_vec(),
            kind: RELR,
            flags: ALLOC,
            memory: table.memory,
            offset: moves.run.offset_of(table.memory.start())?,
            alignment: word,
            entry_size: word,
        })
    });
    relr.into_iter().collect()
}

fn preface_move<'m>(moves: &Moves<'m>, section: usize) -> Option<&'m Moved> {
    moves.shape.preface()?.moved.iter().find(|moved| moved.section == section)
}

/// The new address of a moved section.
pub(super) fn new_address(moves: &Moves<'_>, section: usize) -> Result<Option<Vaddr>, Refusal> {
    match moves.placed.of_section(section) {
        Some(table) => Ok(Some(table.memory.start())),
        None => preface_move(moves, section).map(Moved::new_address).transpose(),
    }
}
