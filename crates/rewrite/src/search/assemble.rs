//! Passes the changes to the assembly that all edits share.

use coldstart_elf::{DynamicTable, ElfFile, FileSpan, Position, Tag, VaddrSpan};

use super::entries::Content;
use super::headers::{new_places, new_sections, old_sections, program_headers};
use super::room::Room;
use super::{EditNote, SearchPlan, SearchSummary};
use crate::anatomy::preface::preface_pieces;
use crate::anatomy::symbols::symbol_patches;
use crate::anatomy::tail;
use crate::anatomy::{first_bytes, names_section, program_header_range, zeros};
use crate::assembly::{Assembly, DynamicInPlace, NewHeaders, NoteText, WayBackRule, added_names};
use crate::edits::Edits;
use crate::layout::word_bytes;
use crate::refusal::Refusal;
use crate::script::{Piece, end_of};
use crate::undo::Held;

/// Assembles the plan.
pub(super) fn assemble(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    content: &Content,
    room: &Room,
    edit: EditNote<'_>,
) -> Result<SearchPlan, Refusal> {
    let names = names_section(file)?;
    let added_names = added_names(content.note.iter().map(|note| note.section.as_bytes()));
    let added_end = room.offset_of(room.new_strings.end())?;
    let mut tail = tail::lay_out(file, names, room.behind, |_| Ok(added_end), &added_names)?;
    let program_headers = program_headers(file, room, &tail)?;
    let places = new_places(file, dynamic, room)?;
    let new_address = |section: usize| places.iter().find(|place| place.section == section);
    let symbols = symbol_patches(file, |section| Ok(new_address(section).map(|place| place.memory.start())))?;
    let dynamic_bytes = dynamic_bytes(file, content, room);
    let section_headers = old_sections(file, room, &places, &tail, names)?;
    let new_sections = new_sections(content, room)?;

    let mut edits = Edits::default();
    replace_front(file, room, &program_headers, &mut edits)?;
    let mut end = added(content, room, &dynamic_bytes)?;
    end.append(&mut tail.pieces);
    tail.pieces = end;
    let old_dynamic = FileSpan::new(dynamic.file_offset(), dynamic.size())?;
    let dynamic = DynamicInPlace { old: old_dynamic, at: old_dynamic.start(), bytes: dynamic_bytes };
    let assembly = Assembly {
        file,
        edits,
        tail,
        program_headers,
        program_headers_at: program_header_range(file)?.start(),
        dynamic: room.dynamic.is_none().then_some(dynamic),
        symbols,
        section_headers,
        new_sections,
        known: Vec::new(),
        words_before: Vec::new(),
        held: Held::Same,
        order: Vec::new(),
    };
    let note = NoteText { edits: &[edit.name], world: None, content: edit.content };
    let (script, _) = assembly.finish(note, WayBackRule::Demanded)?;
    let summary = SearchSummary {
        size_before: file.size(),
        size_after: script.size(),
        strings_added: content.added_strings.len() as u64,
        dynamic_moved: content.dynamic_moves,
        room: room.summary(),
    };
    Ok(SearchPlan { script, summary })
}

/// All changes from the file's start to the old strings' end.
fn replace_front(file: &ElfFile<'_>, room: &Room, headers: &NewHeaders, edits: &mut Edits) -> Result<(), Refusal> {
    let first = first_bytes(file);
    edits.replace(FileSpan::first(first.len() as u64), vec![Piece::Bytes(first.to_vec())]);
    let old = program_header_range(file)?;
    let mut pieces = vec![Piece::Bytes(headers.iter().flat_map(|(_, raw)| raw.iter().copied()).collect())];
    let Some(grown) = &room.grown else {
        edits.replace(old, pieces);
        return Ok(());
    };
    let end = old.start().plus(end_of(&pieces)?.0)?;
    let run = grown.run.file_span();
    let start = run.start().plus(grown.preface.run_moves_by)?;
    pieces.extend(preface_pieces(&grown.preface, end, start)?);
    edits.replace(FileSpan::between(old.start(), run.start())?, pieces);
    if grown.preface.run_moves_by == 0 {
        return Ok(());
    }
    let mut at = start;
    let mut pieces = Vec::new();
    for (table, address) in &grown.places {
        let place = grown.run.offset_of(*address)?;
        pieces.extend(zeros(at, place)?);
        pieces.push(Piece::Copy(table.file));
        at = place.plus(table.file.size())?;
    }
    pieces.extend(zeros(at, run.end())?);
    edits.replace(run, pieces);
    Ok(())
}

/// The data added after all loaded data.
fn added(content: &Content, room: &Room, dynamic: &[u8]) -> Result<Vec<Piece>, Refusal> {
    let mut at = room.behind;
    let mut pieces = Vec::new();
    let mut put = |range: VaddrSpan, content: Vec<Piece>| -> Result<(), Refusal> {
        let offset = room.offset_of(range.start())?;
        pieces.extend(zeros(at, offset)?);
        at = offset.plus(range.size())?;
        pieces.extend(content);
        Ok(())
    };
    if let Some(range) = room.dynamic {
        put(range, vec![Piece::Bytes(dynamic.to_vec())])?;
    }
    if let (Some(range), Some(note)) = (room.note, &content.note) {
        put(range, vec![Piece::Bytes(note.bytes.clone())])?;
    }
    let strings = vec![Piece::Copy(room.strings.file), Piece::Bytes(content.added_strings.clone())];
    put(room.new_strings, strings)?;
    Ok(pieces)
}

/// The new dynamic table.
fn dynamic_bytes(file: &ElfFile<'_>, content: &Content, room: &Room) -> Vec<u8> {
    let encoding = file.encoding();
    let moved = |tag: Tag| {
        let places = room.grown.iter().flat_map(|grown| &grown.places);
        places.into_iter().find(|(table, _)| table.tag == tag).map(|(_, address)| address.0)
    };
    let mut bytes = Vec::new();
    for entry in &content.entries {
        let value = match entry.tag {
            Tag::STRTAB => room.new_strings.start().0,
            Tag::STRSZ => room.new_strings.size(),
            tag => moved(tag).unwrap_or(entry.value),
        };
        bytes.extend(word_bytes(encoding, entry.tag.0));
        bytes.extend(word_bytes(encoding, value));
    }
    // The size of what is in memory: it does not wrap.
    let entry_size = (encoding.word_size() as usize).wrapping_mul(2);
    bytes.resize(content.capacity.wrapping_mul(entry_size), 0);
    bytes
}
