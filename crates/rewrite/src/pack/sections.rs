//! The new section headers.
//!
//! Section headers must tell the truth: `strip`, `patchelf` and `objcopy` write files anew from them, and drop or destroy
//! what no section covers.

use coldstart_elf::{ElfFile, SectionKind};

use super::place::Placed;
use super::room::{Shape, Slide};
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::{Tail, section_headers};
use crate::layout::{part, section_header as field};

/// Name of the section of RELR.
pub(super) const RELR_NAME: &[u8] = b".relr.dyn\0";
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

/// The new address of a section that moved.
pub(super) fn new_address(file: &ElfFile<'_>, moves: &Moves<'_>, section: usize) -> Option<u64> {
    match moves.placed.of_section(section) {
        Some(table) => Some(table.address),
        None => file.sections().get(section)?.header.address.0.checked_add(preface_move(moves, section)?),
    }
}
