//! `bind-local` in place: records with a symbol become relative ones in the same table.
//!
//! Those of the PLT always do, as its records have places that code knows; the others do where RELR cannot encode them, or if
//! the file gets no RELR. Nothing moves then but the end of the file.

use std::collections::BTreeMap;

use coldstart_elf::{DynamicRelocations, ElfFile, FileOffset, FileSpan, Position, RelocationForm, RelocationTable};

use super::Subject;
use super::decision::{PackPlan, PackSummary, Room};
use super::own::Bound;
use super::pass::Pass;
use super::way_back::ALWAYS;
use crate::anatomy::tail::{self, Tail};
use crate::anatomy::{first_bytes, names_section, program_header_range, relative_kind, section_header_range};
use crate::assembly::{Assembly, NewHeaders, NoteText, WayBackRule, added_names};
use crate::edits::Edits;
use crate::layout::{part, program_header, section_header};
use crate::refusal::Refusal;
use crate::script::{Piece, WordPatch};
use crate::undo::Held;

/// Undo data may take this many bytes for each bound record; the usual is a fourth of that.
pub(super) const UNDO_BYTES: u64 = 12;

/// Plans the conversion of the bound records.
pub(super) fn plan(subject: &Subject<'_, '_>, bound: &Bound) -> Result<PackPlan, Refusal> {
    let Subject { file, options, relocations, .. } = *subject;
    let names = names_section(file)?;
    let tail = tail::lay_out(file, names, Default::default(), Ok, &added_names([]))?;
    let program_headers = program_headers(file, &tail);
    let section_headers = section_headers(file, &tail, names)?;
    let mut patches = plt_patches(file, relocations, bound)?;
    for table in relocations.tables() {
        patches.extend(self::patches(file, table, &bound.values)?);
    }
    patches.extend(&bound.code);
    let mut edits = Edits::default();
    let first = first_bytes(file);
    edits.replace(FileSpan::first(first.len() as u64), vec![Piece::Bytes(first.to_vec())]);
    let headers = program_headers.iter().flat_map(|(_, raw)| raw.iter().copied()).collect();
    edits.replace(program_header_range(file)?, vec![Piece::Bytes(headers)]);
    edits.patch(patches.iter().map(|patch| patch.new));
    let before = patches.iter().map(|patch| patch.old).collect();
    // Counts of records in memory: no overflow.
    let count = bound.values.len().wrapping_add(bound.plt.len()) as u64;
    let assembly = Assembly {
        file,
        edits,
        tail,
        program_headers,
        program_headers_at: program_header_range(file)?.start(),
        dynamic: None,
        symbols: Vec::new(),
        section_headers,
        new_sections: Vec::new(),
        known: Vec::new(),
        words_before: before,
        held: Held::Same,
        order: Vec::new(),
    };
    let rule = match options.undo {
        false => WayBackRule::Declined,
        // A record's old symbol takes a few bytes, so this only leaves out what does not pack at all.
        true => WayBackRule::AtMost(ALWAYS.max(count.saturating_mul(UNDO_BYTES))),
    };
    let world = options.world();
    let note = NoteText { edits: &bound.passes().map(Pass::name).collect::<Vec<_>>(), world, content: None };
    let (script, way_back) = assembly.finish(note, rule)?;
    let record_bytes = relocations.tables().map(RelocationTable::size).sum();
    let summary = PackSummary {
        passes: Vec::new(),
        own_references: None,
        size_before: file.size(),
        size_after: script.size(),
        packed: 0,
        bound: count,
        pure_virtual: bound.pure_virtual,
        kept_relative: 0,
        kept_others: 0,
        record_bytes_before: record_bytes,
        record_bytes_after: record_bytes,
        relr_bytes: 0,
        words_written: patches.len() as u64,
        room: Room::Unchanged,
        hole_bytes: 0,
        slots: Vec::new(),
        version_added: false,
        way_back,
        cautions: Vec::new(),
    };
    Ok(PackPlan { script, summary })
}

/// A word with its old and its new value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    pub(super) old: WordPatch,
    pub(super) new: WordPatch,
}

/// The words of the PLT's records that change.
pub(super) fn plt_patches(
    file: &ElfFile<'_>,
    relocations: &DynamicRelocations<'_>,
    bound: &Bound,
) -> Result<Vec<Changed>, Refusal> {
    match &relocations.plt {
        Some(table) => patches(file, table, &bound.plt),
        None => Ok(Vec::new()),
    }
}

/// The words of a table's records, and of addends in place, that change.
pub(super) fn patches(
    file: &ElfFile<'_>,
    table: &RelocationTable<'_>,
    values: &BTreeMap<usize, u64>,
) -> Result<Vec<Changed>, Refusal> {
    let encoding = file.encoding();
    let (_, relative) = relative_kind(encoding.machine)?;
    let word = encoding.word_size();
    let mut patches = Vec::new();
    let mut set = |at: FileOffset, value: u64| -> Result<(), Refusal> {
        let held = part(file.bytes(), FileSpan::new(at, word)?).and_then(|bytes| encoding.word(bytes));
        let held = held.ok_or_else(lost)?;
        if held != value {
            patches.push(Changed { old: WordPatch { at, value: held }, new: WordPatch { at, value } });
        }
        Ok(())
    };
    for (number, value) in values {
        let before = (*number as u64).checked_mul(table.record_size() as u64).ok_or_else(lost)?;
        let info = table.file_offset().plus(before)?.plus(word)?;
        set(info, relative.into())?;
        let place = match table.form() {
            RelocationForm::Rela => info.plus(word)?,
            RelocationForm::Rel => {
                let relocation = table.get(*number).ok_or_else(lost)?;
                file.offset_of(relocation.offset).ok_or_else(lost)?
            }
        };
        set(place, *value)?;
    }
    Ok(patches)
}

fn lost() -> Refusal {
    Refusal::Layout("a record of its relocations is outside the file".to_owned())
}

/// The program headers, which follow what is not loaded.
fn program_headers(file: &ElfFile<'_>, tail: &Tail) -> NewHeaders {
    let encoding = file.encoding();
    let size = usize::from(file.header().segment_entry_size).max(1);
    let range = program_header_range(file).unwrap_or_default();
    let table = part(file.bytes(), range).unwrap_or(&[]);
    let mut headers: NewHeaders = Vec::new();
    for (number, (segment, raw)) in file.segments().iter().zip(table.chunks_exact(size)).enumerate() {
        let mut raw = raw.to_vec();
        // Those without memory describe what is not loaded (`PT_RISCV_ATTRIBUTES`).
        if let (0, Some(place)) = (segment.memory_size, tail.place_of(file, segment.offset)) {
            program_header::OFFSET.set_word(&mut raw, encoding, place.0);
        }
        headers.push((Some(number), raw));
    }
    headers
}

/// The section headers, which follow what is not loaded.
fn section_headers(file: &ElfFile<'_>, tail: &Tail, names: usize) -> Result<Vec<u8>, Refusal> {
    let encoding = file.encoding();
    let mut bytes = part(file.bytes(), section_header_range(file)?).unwrap_or(&[]).to_vec();
    let size = usize::from(file.header().section_entry_size).max(1);
    for (number, raw) in bytes.chunks_exact_mut(size).enumerate() {
        if let Some((_, place)) = tail.places.iter().find(|(section, _)| *section == number) {
            section_header::OFFSET.set_word(raw, encoding, place.0);
        }
        if number == names {
            section_header::SIZE.set_word(raw, encoding, tail.names_size);
        }
    }
    Ok(bytes)
}
