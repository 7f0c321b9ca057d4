//! Program headers and section headers of the new file, and symbols that name what moved.

use coldstart_elf::{DynamicTable, ElfFile, SectionKind, Segment, SegmentKind};

use super::entries::Content;
use super::room::Room;
use crate::anatomy::preface::follow_preface;
use crate::anatomy::tail::{Tail, section_headers};
use crate::layout::{part, program_header, section_header as field};
use crate::refusal::Refusal;

/// `SHT_NOTE`, `SHF_ALLOC`.
const NOTE: u32 = 7;
const ALLOC: u64 = 2;
/// `PF_R`.
const READ: u32 = 4;

/// The program headers of the new file as bytes, one each, with the number that each had before.
pub(super) type NewHeaders = Vec<(Option<usize>, Vec<u8>)>;

/// A section with a new place.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewPlace {
    pub(super) section: usize,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// Makes the program headers of the new file.
pub(super) fn program_headers(file: &ElfFile<'_>, room: &Room, tail: &Tail) -> Result<NewHeaders, Refusal> {
    let encoding = file.encoding();
    let size = usize::from(file.header().segment_entry_size);
    let start = usize::try_from(file.header().segments_offset.0).ok();
    let table = start.and_then(|start| file.bytes().get(start..)).unwrap_or(&[]);
    let last_load = file.segments().iter().rposition(|segment| segment.kind == SegmentKind::Load);
    let count = file.segments().len().saturating_sub(room.instead.len());
    let added = usize::from(room.grows.is_none()).saturating_add(usize::from(room.note.is_some()));
    let table_size = (count.saturating_add(added) as u64).saturating_mul(size as u64);
    let mut headers: NewHeaders = Vec::new();
    let pairs = file.segments().iter().zip(table.chunks_exact(size.max(1)));
    for (number, (segment, raw)) in pairs.enumerate() {
        let mut raw = raw.to_vec();
        if !room.instead.contains(&number) {
            follow(file, room, tail, number, segment, &mut raw, table_size);
            headers.push((Some(number), raw.clone()));
        }
        if Some(number) == last_load && room.grows.is_none() {
            // Physical addresses say nothing here; linkers make them the same.
            let physical = program_header::PHYSICAL_ADDRESS.word(&raw, encoding);
            let shift = physical.wrapping_sub(segment.address.0);
            headers.push((None, new_header(file, &room.segment, shift, size)));
        }
    }
    if let Some(note) = &room.note {
        let length = note.end.saturating_sub(note.start);
        let segment = Segment {
            kind: SegmentKind::Note,
            flags: READ,
            offset: coldstart_elf::FileOffset(room.offset_of(note.start)),
            address: coldstart_elf::Vaddr(note.start),
            file_size: length,
            memory_size: length,
            alignment: 4,
        };
        headers.push((None, new_header(file, &segment, 0, size)));
    }
    Ok(headers)
}

/// Changes an old header as what it describes has changed.
fn follow(
    file: &ElfFile<'_>,
    room: &Room,
    tail: &Tail,
    number: usize,
    segment: &Segment,
    raw: &mut [u8],
    table_size: u64,
) {
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
                let size = table.end.saturating_sub(table.start);
                program_header::OFFSET.set_word(raw, encoding, room.offset_of(table.start));
                program_header::ADDRESS.set_word(raw, encoding, table.start);
                program_header::PHYSICAL_ADDRESS.set_word(raw, encoding, table.start);
                program_header::FILE_SIZE.set_word(raw, encoding, size);
                program_header::MEMORY_SIZE.set_word(raw, encoding, size);
            }
        }
        _ => {
            let preface = room.grown.as_ref().map(|grown| &grown.preface);
            if !follow_preface(file, preface, number, raw)
                && segment.file_size > 0
                && segment.offset.0 >= room.behind
                && let Some(place) = tail.place_of(file, segment.offset.0)
            {
                program_header::OFFSET.set_word(raw, encoding, place);
            }
        }
    }
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
    let at = |section: usize, range: &std::ops::Range<u64>| NewPlace {
        section,
        address: range.start,
        offset: room.offset_of(range.start),
        size: range.end.saturating_sub(range.start),
    };
    let mut places = vec![at(room.strings.section, &room.new_strings)];
    if let Some(table) = &room.dynamic {
        let is_dynamic = |header: &coldstart_elf::SectionHeader| {
            header.kind == SectionKind::Other(6) && header.address == dynamic.address()
        };
        let number = file.sections().iter().position(|section| is_dynamic(&section.header));
        let lie = || Refusal::SectionsLie("the program headers: no section is the dynamic table".to_owned());
        places.push(at(number.ok_or_else(lie)?, table));
    }
    if let Some(grown) = &room.grown {
        for (table, address) in &grown.places {
            let offset = table.offset.saturating_add(address.saturating_sub(table.address.0));
            places.push(NewPlace { section: table.section, address: *address, offset, size: table.size });
        }
        for moved in &grown.preface.moved {
            let [address, offset] = [moved.address, moved.offset].map(|place| place.saturating_add(moved.by));
            places.push(NewPlace { section: moved.section, address, offset, size: moved.size });
        }
    }
    Ok(places)
}

/// The headers of the old sections as they must be now, one after the other.
pub(super) fn old_sections(file: &ElfFile<'_>, room: &Room, places: &[NewPlace], tail: &Tail, names: usize) -> Vec<u8> {
    let encoding = file.encoding();
    let mut bytes = part(file.bytes(), section_headers(file)).unwrap_or(&[]).to_vec();
    let size = usize::from(file.header().section_entry_size).max(1);
    for (number, (raw, section)) in bytes.chunks_exact_mut(size).zip(file.sections()).enumerate() {
        let header = &section.header;
        if let Some(place) = places.iter().find(|place| place.section == number) {
            field::ADDRESS.set_word(raw, encoding, place.address);
            field::OFFSET.set_word(raw, encoding, place.offset);
            field::SIZE.set_word(raw, encoding, place.size);
        } else if let Some((_, place)) = tail.places.iter().find(|(section, _)| *section == number) {
            field::OFFSET.set_word(raw, encoding, *place);
        } else if header.kind != SectionKind::Null && !header.is_loaded() && header.offset.0 >= room.behind {
            // Without bytes it may stand anywhere; in order is best.
            field::OFFSET.set_word(raw, encoding, tail.end);
        }
        if number == names {
            field::SIZE.set_word(raw, encoding, tail.names_size);
        }
    }
    bytes
}

/// The headers of the sections that are added: the loaded note, and our own of `size` bytes at `offset`.
pub(super) fn added_sections(
    file: &ElfFile<'_>,
    content: &Content,
    room: &Room,
    tail: &Tail,
    (offset, size): (u64, u64),
) -> Vec<u8> {
    let encoding = file.encoding();
    let entry = usize::from(file.header().section_entry_size);
    let section = |name: u64, flags: u64, address: u64, offset: u64, size: u64| {
        let mut raw = vec![0; entry];
        field::NAME.set_u32(&mut raw, encoding, name as u32);
        field::KIND.set_u32(&mut raw, encoding, NOTE);
        field::FLAGS.set_word(&mut raw, encoding, flags);
        field::ADDRESS.set_word(&mut raw, encoding, address);
        field::OFFSET.set_word(&mut raw, encoding, offset);
        field::SIZE.set_word(&mut raw, encoding, size);
        field::ALIGNMENT.set_word(&mut raw, encoding, 4);
        raw
    };
    let mut bytes = Vec::new();
    let mut name = tail.added_names;
    if let (Some(note), Some(range)) = (&content.note, &room.note) {
        let length = range.end.saturating_sub(range.start);
        bytes.extend(section(name, ALLOC, range.start, room.offset_of(range.start), length));
        name = name.saturating_add(note.section.len() as u64).saturating_add(1);
    }
    bytes.extend(section(name, 0, 0, offset, size));
    bytes
}
