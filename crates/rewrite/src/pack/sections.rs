//! The new section headers, and the symbols that name a section which moved.
//!
//! Section headers must tell the truth: `strip`, `patchelf` and `objcopy` write files anew from them, and drop or destroy
//! what no section covers.

use coldstart_elf::{ElfFile, SectionKind, Symbol};

use super::place::Placed;
use super::room::{Shape, Slide};
use super::tables::FrontRun;
use super::tail::{RELR_NAME, Tail, section_headers};
use crate::layout::{SYMBOL_VALUE, part, section_header as field};
use crate::refusal::Refusal;
use crate::script::WordPatch;

/// `SHT_RELR`, `SHT_NOTE`, `SHF_ALLOC`.
const RELR: u32 = 19;
const NOTE: u32 = 7;
const ALLOC: u64 = 2;

/// Everything that decides about the new headers.
pub(super) struct Moves<'a> {
    pub(super) shape: &'a Shape,
    pub(super) slide: Slide,
    pub(super) placed: &'a Placed,
    pub(super) tail: &'a Tail,
    pub(super) run: &'a FrontRun,
    /// Number of the section with the sections' names.
    pub(super) names: usize,
}

/// The headers of the old sections as they must be now, one after the other.
pub(super) fn old_headers(file: &ElfFile<'_>, moves: &Moves<'_>) -> Vec<u8> {
    let encoding = file.encoding();
    let mut bytes = part(file.bytes(), section_headers(file)).unwrap_or(&[]).to_vec();
    let size = usize::from(file.header().section_entry_size).max(1);
    for (number, (raw, section)) in bytes.chunks_exact_mut(size).zip(file.sections()).enumerate() {
        let header = &section.header;
        if header.kind == SectionKind::Null {
            continue;
        }
        if let Some(table) = moves.placed.of_section(number) {
            field::ADDRESS.set_word(raw, encoding, table.address);
            field::OFFSET.set_word(raw, encoding, moves.run.offset_of(table.address));
            field::SIZE.set_word(raw, encoding, table.size);
        } else if let Some(moved) = preface_move(moves, number) {
            field::ADDRESS.set_word(raw, encoding, header.address.0.saturating_add(moved));
            field::OFFSET.set_word(raw, encoding, header.offset.0.saturating_add(moved));
        } else if let Some((_, place)) = moves.tail.places.iter().find(|(section, _)| *section == number) {
            field::OFFSET.set_word(raw, encoding, *place);
        } else {
            field::OFFSET.set_word(raw, encoding, moves.slide.place(header.offset.0));
        }
        if number == moves.names {
            field::SIZE.set_word(raw, encoding, moves.tail.names_size);
        }
    }
    bytes
}

/// The headers of the sections that are added: RELR, and our note of `note_size` bytes at `note_offset`.
pub(super) fn added_headers(file: &ElfFile<'_>, moves: &Moves<'_>, note_offset: u64, note_size: u64) -> Vec<u8> {
    let encoding = file.encoding();
    let size = usize::from(file.header().section_entry_size);
    let mut relr = vec![0; size];
    if let Some(table) = moves.placed.relr() {
        field::NAME.set_u32(&mut relr, encoding, moves.tail.added_names as u32);
        field::KIND.set_u32(&mut relr, encoding, RELR);
        field::FLAGS.set_word(&mut relr, encoding, ALLOC);
        field::ADDRESS.set_word(&mut relr, encoding, table.address);
        field::OFFSET.set_word(&mut relr, encoding, moves.run.offset_of(table.address));
        field::SIZE.set_word(&mut relr, encoding, table.size);
        field::ALIGNMENT.set_word(&mut relr, encoding, encoding.word_size());
        field::ENTRY_SIZE.set_word(&mut relr, encoding, encoding.word_size());
    }
    let mut note = vec![0; size];
    let name = moves.tail.added_names.saturating_add(RELR_NAME.len() as u64);
    field::NAME.set_u32(&mut note, encoding, name as u32);
    field::KIND.set_u32(&mut note, encoding, NOTE);
    field::OFFSET.set_word(&mut note, encoding, note_offset);
    field::SIZE.set_word(&mut note, encoding, note_size);
    field::ALIGNMENT.set_word(&mut note, encoding, 4);
    [relr, note].concat()
}

fn preface_move(moves: &Moves<'_>, section: usize) -> Option<u64> {
    let moved = moves.shape.preface()?.moved.iter().find(|moved| moved.section == section)?;
    Some(moved.by)
}

/// New values of symbols whose section moved: those of `.symtab`, which only tools read.
pub(super) fn symbol_patches(file: &ElfFile<'_>, moves: &Moves<'_>) -> Result<Vec<WordPatch>, Refusal> {
    let mut patches = Vec::new();
    let Some(section) = file.sections().iter().find(|section| section.header.kind == SectionKind::SymbolTable) else {
        return Ok(patches);
    };
    let symbols = file.symbols_of(section)?;
    let encoding = file.encoding();
    for (number, symbol) in symbols.iter().enumerate() {
        let Some(value) = moved_value(file, moves, &symbol) else { continue };
        let record = symbols.table().offset_of(number).0;
        patches.push(WordPatch { at: record.saturating_add(SYMBOL_VALUE.at(encoding) as u64), value });
    }
    Ok(patches)
}

fn moved_value(file: &ElfFile<'_>, moves: &Moves<'_>, symbol: &Symbol) -> Option<u64> {
    let number = usize::from(symbol.section);
    let old = file.sections().get(number)?.header.address.0;
    let new = match moves.placed.of_section(number) {
        Some(table) => table.address,
        None => old.checked_add(preface_move(moves, number)?)?,
    };
    (symbol.is_defined() && new != old).then(|| symbol.value.0.wrapping_sub(old).wrapping_add(new))
}
