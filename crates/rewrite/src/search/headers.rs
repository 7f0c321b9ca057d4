//! Program headers and section headers of the new file, and symbols in moved sections.

use coldstart_elf::{DynamicTable, ElfFile, FileOffset, SectionHeader, SectionKind, Segment, SegmentKind, VaddrSpan};

use super::entries::Content;
use super::room::Room;
use crate::anatomy::preface::follow_preface;
use crate::anatomy::tail::Tail;
use crate::anatomy::{records, section_header_range};
use crate::assembly::{ALLOC, NOTE, NewHeaders, NewSection};
use crate::layout::{part, program_header, section_header as field};
use crate::refusal::Refusal;

/// `PF_R`.
const READ: u32 = 4;

/// A section with a new address.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewPlace {
    pub(super) section: usize,
    pub(super) memory: VaddrSpan,
    pub(super) offset: FileOffset,
}

/// Builds the program headers of the new file.
pub(super) fn program_headers(file: &ElfFile<'_>, room: &Room, tail: &Tail) -> Result<NewHeaders, Refusal> {
    let encoding = file.encoding();
    let size = usize::from(file.header().segment_entry_size);
    let start = usize::try_from(file.header().segments_offset.0).ok();
    let table = start.and_then(|start| file.bytes().get(start..)).unwrap_or(&[]);
    let last_load = file.segments().iter().rposition(|segment| segment.kind == SegmentKind::Load);
    let kept = (0..file.segments().len()).filter(|number| !room.instead.contains(number)).count();
    let count = kept.wrapping_add(room.added_headers());
    let table_size = records(FileOffset(0), file.header().segment_entry_size, count)?.size();
    let mut headers: NewHeaders = Vec::new();
    let pairs = file.segments().iter().zip(table.chunks_exact(size.max(1)));
    for (number, (segment, raw)) in pairs.enumerate() {
        let mut raw = raw.to_vec();
        if !room.instead.contains(&number) {
            follow(file, room, tail, (number, segment), &mut raw, table_size)?;
            headers.push((Some(number), raw.clone()));
        }
        if Some(number) == last_load && room.grows.is_none() {
            // Physical addresses are unused here; linkers set them to the virtual ones.
            let physical = program_header::PHYSICAL_ADDRESS.word(&raw, encoding);
            let shift = physical.wrapping_sub(segment.address.0);
            headers.push((None, new_header(file, &room.segment, shift, size)));
        }
    }
    if let Some(note) = &room.note {
        let segment = Segment {
            kind: SegmentKind::Note,
            flags: READ,
            offset: room.offset_of(note.start())?,
            address: note.start(),
            file_size: note.size(),
            memory_size: note.size(),
            alignment: 4,
        };
        headers.push((None, new_header(file, &segment, 0, size)));
    }
    Ok(headers)
}

/// Updates an old header.
fn follow(
    file: &ElfFile<'_>,
    room: &Room,
    tail: &Tail,
    (number, segment): (usize, &Segment),
    raw: &mut [u8],
    table_size: u64,
) -> Result<(), Refusal> {
    let encoding = file.encoding();
    match segment.kind {
        SegmentKind::ProgramHeaders => {
            program_header::FILE_SIZE.set_word(raw, encoding, table_size);
            program_header::MEMORY_SIZE.set_word(raw, encoding, table_size);
        }
        SegmentKind::Load => {
            if room.grows == Some(number) {
                program_header::FILE_SIZE.set_word(raw, encoding, room.segment.file_size);
                program_header::MEMORY_SIZE.set_word(raw, encoding, room.segment.memory_size);
            }
        }
        SegmentKind::Dynamic => {
            if let Some(table) = &room.dynamic {
                program_header::OFFSET.set_word(raw, encoding, room.offset_of(table.start())?.0);
                program_header::ADDRESS.set_word(raw, encoding, table.start().0);
                program_header::PHYSICAL_ADDRESS.set_word(raw, encoding, table.start().0);
                program_header::FILE_SIZE.set_word(raw, encoding, table.size());
                program_header::MEMORY_SIZE.set_word(raw, encoding, table.size());
            }
        }
        _ => {
            let preface = room.grown.as_ref().map(|grown| &grown.preface);
            if !follow_preface(file, preface, number, raw)?
                && segment.file_size > 0
                && segment.offset >= room.behind
                && let Some(place) = tail.place_of(file, segment.offset)
            {
                program_header::OFFSET.set_word(raw, encoding, place.0);
            }
        }
    }
    Ok(())
}

fn new_header(file: &ElfFile<'_>, segment: &Segment, physical_shift: u64, size: usize) -> Vec<u8> {
    let encoding = file.encoding();
    let mut raw = vec![0; size];
    let kind = if segment.kind == SegmentKind::Note { 4 } else { 1 };
    program_header::KIND.set_u32(&mut raw, encoding, kind);
    program_header::FLAGS.set_u32(&mut raw, encoding, segment.flags);
    program_header::OFFSET.set_word(&mut raw, encoding, segment.offset.0);
    program_header::ADDRESS.set_word(&mut raw, encoding, segment.address.0);
    let physical = segment.address.0.wrapping_add(physical_shift);
    program_header::PHYSICAL_ADDRESS.set_word(&mut raw, encoding, physical);
    program_header::FILE_SIZE.set_word(&mut raw, encoding, segment.file_size);
    program_header::MEMORY_SIZE.set_word(&mut raw, encoding, segment.memory_size);
    program_header::ALIGNMENT.set_word(&mut raw, encoding, segment.alignment);
    raw
}

/// Sections that have a new address.
pub(super) fn new_places(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    room: &Room,
) -> Result<Vec<NewPlace>, Refusal> {
    let at = |section: usize, memory: VaddrSpan| {
        Ok::<_, Refusal>(NewPlace { section, memory, offset: room.offset_of(memory.start())? })
    };
    let mut places = vec![at(room.strings.section, room.new_strings)?];
    if let Some(table) = room.dynamic {
        let is_dynamic =
            |header: &SectionHeader| header.kind == SectionKind::Other(6) && header.address == dynamic.address();
        let number = file.sections().iter().position(|section| is_dynamic(&section.header));
        let lie = || Refusal::SectionsLie("the program headers: no section is the dynamic table".to_owned());
        places.push(at(number.ok_or_else(lie)?, table)?);
    }
    if let Some(grown) = &room.grown {
        for (table, address) in &grown.places {
            let offset = grown.run.offset_of(*address)?;
            let memory = VaddrSpan::new(*address, table.memory.size())?;
            places.push(NewPlace { section: table.section, memory, offset });
        }
        for moved in &grown.preface.moved {
            let memory = VaddrSpan::new(moved.new_address()?, moved.file.size())?;
            places.push(NewPlace { section: moved.section, memory, offset: moved.new_offset()? });
        }
    }
    Ok(places)
}

/// The updated headers of the old sections.
pub(super) fn old_sections(
    file: &ElfFile<'_>,
    room: &Room,
    places: &[NewPlace],
    tail: &Tail,
    names: usize,
) -> Result<Vec<u8>, Refusal> {
    let encoding = file.encoding();
    let mut bytes = part(file.bytes(), section_header_range(file)?).unwrap_or(&[]).to_vec();
    let size = usize::from(file.header().section_entry_size).max(1);
    for (number, (raw, section)) in bytes.chunks_exact_mut(size).zip(file.sections()).enumerate() {
        let header = &section.header;
        if let Some(place) = places.iter().find(|place| place.section == number) {
            field::ADDRESS.set_word(raw, encoding, place.memory.start().0);
            field::OFFSET.set_word(raw, encoding, place.offset.0);
            field::SIZE.set_word(raw, encoding, place.memory.size());
        } else if let Some((_, place)) = tail.places.iter().find(|(section, _)| *section == number) {
            field::OFFSET.set_word(raw, encoding, place.0);
        } else if header.kind != SectionKind::Null && !header.is_loaded() && header.offset >= room.behind {
            // An empty section may be anywhere; in order is best.
            field::OFFSET.set_word(raw, encoding, tail.end.0);
        }
        if number == names {
            field::SIZE.set_word(raw, encoding, tail.names_size);
        }
    }
    Ok(bytes)
}

/// The section of the loaded note.
pub(super) fn new_sections(content: &Content, room: &Room) -> Result<Vec<NewSection>, Refusal> {
    let (Some(note), Some(memory)) = (&content.note, room.note) else { return Ok(Vec::new()) };
    Ok(vec![NewSection {
        name: note.section.clone().into_bytes(),
        kind: NOTE,
        flags: ALLOC,
        memory,
        offset: room.offset_of(memory.start())?,
        alignment: 4,
        entry_size: 0,
    }])
}
