//! The whole new file as one script, and the way back.

use std::ops::Range;

use coldstart_elf::{DynamicTable, ElfFile, Tag};

use super::entries::Content;
use super::headers::{NewHeaders, added_sections, new_places, old_sections, program_headers};
use super::room::Room;
use super::{EditNote, SearchPlan, SearchSummary};
use crate::anatomy::preface::preface_pieces;
use crate::anatomy::symbols::symbol_patches;
use crate::anatomy::tail;
use crate::anatomy::{first_bytes, names_section, program_header_range, zeros};
use crate::edits::Edits;
use crate::ending::Ending;
use crate::identity::digest;
use crate::layout::{part, word_bytes};
use crate::note::{self, NoteContent};
use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch};
use crate::undo::{Copies, Held, Known, SECTION_HEADERS, Undo, encode, steps_back};

/// Puts the plan together.
pub(super) fn assemble(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    content: &Content,
    room: &Room,
    edit: EditNote<'_>,
) -> Result<SearchPlan, Refusal> {
    let encoding = file.encoding();
    let names = names_section(file)?;
    let mut added_names = Vec::new();
    if let Some(note) = &content.note {
        added_names.extend(note.section.bytes());
        added_names.push(0);
    }
    added_names.extend(note::SECTION_NAME);
    let added_end = room.offset_of(room.new_strings.end);
    let tail = tail::lay_out(file, names, room.behind, |_| added_end, &added_names)?;
    let headers = program_headers(file, room, &tail)?;
    let places = new_places(file, dynamic, room)?;
    let new_address = |section: usize| places.iter().find(|place| place.section == section).map(|place| place.address);
    let symbols = symbol_patches(file, new_address)?;
    let dynamic_bytes = dynamic_bytes(file, content, room);
    let section_headers = old_sections(file, room, &places, &tail, names);

    let mut edits = Edits::default();
    replace_front(file, room, &headers, &mut edits);
    let old_dynamic = dynamic.file_offset().0..dynamic.file_offset().0.saturating_add(dynamic.size());
    if room.dynamic.is_none() {
        edits.replace(old_dynamic.clone(), vec![Piece::Bytes(dynamic_bytes.clone())]);
    }
    edits.patch(symbols.iter().copied());
    let mut end = added(content, room, &dynamic_bytes);
    end.extend(tail.pieces.iter().cloned());
    edits.replace(tail.from..file.size(), end);
    let mut script = edits.into_script(encoding, file.size())?;

    let mut known = known_headers(file, &headers);
    if room.dynamic.is_none() {
        known.push((old_dynamic.clone(), Known::Like(old_dynamic.start, dynamic_bytes)));
    }
    known.push((tail::section_headers(file), Known::Like(SECTION_HEADERS, section_headers.clone())));
    let undo = way_back(file, &script, known, &symbols)?;
    let ending = Ending {
        note: NoteContent { edits: &[edit.name], undo: Ok(undo), content: edit.content },
        section_headers,
        program_headers: (program_header_range(file).start, headers.len()),
    };
    script = ending.close(file, &script, |offset, size| added_sections(file, content, room, &tail, (offset, size)))?;
    let summary = SearchSummary {
        size_before: file.size(),
        size_after: script.size(),
        strings_added: content.added_strings.len() as u64,
        dynamic_moved: content.dynamic_moves,
        room: room.summary(),
    };
    Ok(SearchPlan { script, summary })
}

/// Everything from the file's start to the old strings' end that changes.
fn replace_front(file: &ElfFile<'_>, room: &Room, headers: &NewHeaders, edits: &mut Edits) {
    let first = first_bytes(file);
    edits.replace(0..first.len() as u64, vec![Piece::Bytes(first.to_vec())]);
    let old = program_header_range(file);
    let mut pieces = vec![Piece::Bytes(headers.iter().flat_map(|(_, raw)| raw.iter().copied()).collect())];
    let Some(grown) = &room.grown else { return edits.replace(old, pieces) };
    let end = old.start.saturating_add(pieces.iter().map(Piece::size).sum());
    let run = grown.run.file_range();
    let start = run.start.saturating_add(grown.preface.run_moves_by);
    pieces.extend(preface_pieces(&grown.preface, end, start));
    edits.replace(old.start..run.start, pieces);
    if grown.preface.run_moves_by == 0 {
        return;
    }
    let mut at = start;
    let mut pieces = Vec::new();
    for (table, address) in &grown.places {
        let place = table.offset.saturating_add(address.saturating_sub(table.address.0));
        pieces.extend(zeros(place.saturating_sub(at)));
        pieces.push(Piece::Copy(table.file_range()));
        at = place.saturating_add(table.size);
    }
    pieces.extend(zeros(run.end.saturating_sub(at)));
    edits.replace(run, pieces);
}

/// What is added behind everything that is loaded.
fn added(content: &Content, room: &Room, dynamic: &[u8]) -> Vec<Piece> {
    let mut at = room.behind;
    let mut pieces = Vec::new();
    let mut put = |range: &Range<u64>, content: Vec<Piece>| {
        let offset = room.offset_of(range.start);
        pieces.extend(zeros(offset.saturating_sub(at)));
        at = offset.saturating_add(range.end.saturating_sub(range.start));
        pieces.extend(content);
    };
    if let Some(range) = &room.dynamic {
        put(range, vec![Piece::Bytes(dynamic.to_vec())]);
    }
    if let (Some(range), Some(note)) = (&room.note, &content.note) {
        put(range, vec![Piece::Bytes(note.bytes.clone())]);
    }
    let strings = vec![Piece::Copy(room.strings.file_range()), Piece::Bytes(content.added_strings.clone())];
    put(&room.new_strings, strings);
    pieces
}

/// The new dynamic table.
fn dynamic_bytes(file: &ElfFile<'_>, content: &Content, room: &Room) -> Vec<u8> {
    let encoding = file.encoding();
    let moved = |tag: Tag| {
        let places = room.grown.iter().flat_map(|grown| &grown.places);
        places.into_iter().find(|(table, _)| table.tag == tag).map(|(_, address)| *address)
    };
    let mut bytes = Vec::new();
    for entry in &content.entries {
        let value = match entry.tag {
            Tag::STRTAB => room.new_strings.start,
            Tag::STRSZ => room.new_strings.end.saturating_sub(room.new_strings.start),
            tag => moved(tag).unwrap_or(entry.value),
        };
        bytes.extend(word_bytes(encoding, entry.tag.0));
        bytes.extend(word_bytes(encoding, value));
    }
    let entry_size = (encoding.word_size() as usize).saturating_mul(2);
    bytes.resize(content.capacity.saturating_mul(entry_size), 0);
    bytes
}

/// The old program headers, which are like the new ones.
fn known_headers(file: &ElfFile<'_>, headers: &NewHeaders) -> Vec<(Range<u64>, Known)> {
    let table = program_header_range(file);
    let size = u64::from(file.header().segment_entry_size);
    let at = |number: usize| table.start.saturating_add(size.saturating_mul(number as u64));
    let mut known = Vec::new();
    for (place, (number, raw)) in headers.iter().enumerate() {
        let Some(number) = number else { continue };
        known.push((at(*number)..at(number.saturating_add(1)), Known::Like(at(place), raw.clone())));
    }
    known
}

/// The note's second part.
///
/// # Errors
/// If it would be more than can be read again.
fn way_back(
    file: &ElfFile<'_>,
    script: &Script,
    mut known: Vec<(Range<u64>, Known)>,
    symbols: &[WordPatch],
) -> Result<Vec<u8>, Refusal> {
    known.sort_by_key(|(range, _)| range.start);
    let copies = Copies::of(script);
    let before = |patch: &WordPatch| {
        let word = part(file.bytes(), patch.at..patch.at.saturating_add(file.encoding().word_size()))?;
        Some((copies.place(patch.at)?, file.encoding().word(word)?))
    };
    let mut words: Vec<(u64, u64)> = symbols.iter().filter_map(before).collect();
    words.sort_unstable();
    let steps = steps_back(file.bytes(), &copies, &known);
    let digest = digest(file.bytes(), &|_| {});
    let undo = Undo { size: file.size(), digest, held: Held::Same, order: Vec::new(), steps, words };
    encode(&undo).ok_or_else(|| Refusal::Layout("what restores it is too long for a note".to_owned()))
}
