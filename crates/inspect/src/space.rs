//! The use of a file's bytes.
//!
//! Every byte counts once: parts are laid out by file offset, and of two that claim the same bytes the first one
//! wins. Without section headers, the segments and the dynamic table still classify most bytes.

use std::ops::Range;

use coldstart_elf::{SectionKind, SegmentKind, Tag};
use serde::Serialize;

use crate::object::Object;

/// A use of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Machine code, the PLT included.
    Code,
    /// Constants that need no relocation.
    ReadOnlyData,
    /// Constants that relocation changes, and the GOT.
    RelocatedConstants,
    /// Variables with an initial value.
    Data,
    /// Relocations.
    Relocations,
    /// Dynamic symbols, their names, hash tables and versions.
    DynamicSymbols,
    /// Unwind tables, read only by exceptions, profilers and debuggers.
    Unwind,
    /// Symbols and debug information, which are not loaded.
    NotLoaded,
    /// Notes, the interpreter's path, the dynamic table.
    Administration,
    /// The ELF header, program headers and section headers.
    Headers,
    /// Unclaimed bytes.
    Padding,
}

/// The bytes of one use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpaceUse {
    /// The use.
    #[serde(rename = "use")]
    pub purpose: Use,
    /// Bytes in the file.
    pub bytes: u64,
}

/// The use of a file's bytes; adds up to its size. Largest first.
pub fn space(object: &Object<'_>) -> Vec<SpaceUse> {
    let file = &object.file;
    let header = file.header();
    let mut parts: Vec<(Range<u64>, Use)> = Vec::new();
    let mut add = |start: u64, size: u64, purpose| {
        let end = start.saturating_add(size).min(file.size());
        if start < end {
            parts.push((start..end, purpose));
        }
    };
    let table = |count: u16, size: u16| u64::from(count) * u64::from(size);
    let header_size = if file.encoding().word_size() == 8 { 64 } else { 52 };
    add(0, header_size, Use::Headers);
    add(header.segments_offset.0, table(header.segment_count, header.segment_entry_size), Use::Headers);
    add(header.sections_offset.0, table(header.section_count, header.section_entry_size), Use::Headers);
    if file.sections().is_empty() {
        for (start, size, purpose) in by_dynamic_table(object) {
            add(start, size, purpose);
        }
        for segment in file.segments() {
            let purpose = match segment.kind {
                SegmentKind::Load => continue,
                SegmentKind::Relro => Use::RelocatedConstants,
                SegmentKind::EhFrameHeader => Use::Unwind,
                _ => Use::Administration,
            };
            add(segment.offset.0, segment.file_size, purpose);
        }
        for segment in file.load_segments() {
            let purpose = match (segment.is_executable(), segment.is_writable()) {
                (true, _) => Use::Code,
                (_, true) => Use::Data,
                _ => Use::ReadOnlyData,
            };
            add(segment.offset.0, segment.file_size, purpose);
        }
    }
    for section in file.sections() {
        let purpose = use_of_section(section.name, &section.header);
        add(section.header.offset.0, section.header.file_size(), purpose);
    }
    add_up(parts, file.size())
}

/// Gives each byte to the first part that claims it, in the order in which parts were added.
fn add_up(parts: Vec<(Range<u64>, Use)>, size: u64) -> Vec<SpaceUse> {
    let mut edges: Vec<(u64, usize, bool)> = Vec::with_capacity(parts.len().saturating_mul(2));
    for (index, (range, _)) in parts.iter().enumerate() {
        edges.push((range.start, index, true));
        edges.push((range.end, index, false));
    }
    edges.sort_unstable();
    let mut bytes: Vec<(Use, u64)> = Vec::new();
    let mut give = |purpose: Use, count: u64| match bytes.iter_mut().find(|(other, _)| *other == purpose) {
        Some((_, sum)) => *sum += count,
        None => bytes.push((purpose, count)),
    };
    let mut open = std::collections::BTreeSet::new();
    let mut at = 0;
    for (place, index, opens) in edges.into_iter().chain([(size, usize::MAX, false)]) {
        if place > at {
            let owner = open.first().and_then(|index: &usize| parts.get(*index)).map(|(_, purpose)| *purpose);
            give(owner.unwrap_or(Use::Padding), place - at);
            at = place;
        }
        if opens {
            open.insert(index);
        } else {
            open.remove(&index);
        }
    }
    let mut uses: Vec<SpaceUse> =
        bytes.into_iter().map(|(purpose, bytes)| SpaceUse { purpose, bytes }).filter(|part| part.bytes > 0).collect();
    uses.sort_by_key(|part| (std::cmp::Reverse(part.bytes), part.purpose));
    uses
}

fn use_of_section(name: &[u8], header: &coldstart_elf::SectionHeader) -> Use {
    if !header.is_loaded() {
        return Use::NotLoaded;
    }
    match header.kind {
        SectionKind::Rel | SectionKind::Rela | SectionKind::Relr => return Use::Relocations,
        SectionKind::DynamicSymbols | SectionKind::Strings => return Use::DynamicSymbols,
        SectionKind::Note => return Use::Administration,
        _ if header.is_executable() => return Use::Code,
        _ => {}
    }
    const RELOCATED: [&[u8]; 6] = [b".data.rel.ro", b".got", b".init_array", b".fini_array", b".ctors", b".dtors"];
    match name {
        b".gnu.hash" | b".hash" | b".gnu.version" | b".gnu.version_r" | b".gnu.version_d" => Use::DynamicSymbols,
        b".eh_frame" | b".eh_frame_hdr" | b".gcc_except_table" | b".ARM.exidx" | b".ARM.extab" => Use::Unwind,
        b".dynamic" | b".interp" => Use::Administration,
        b".relr.dyn" | b".rel.dyn" | b".rela.dyn" => Use::Relocations,
        name if RELOCATED.iter().any(|prefix| name.starts_with(prefix)) => Use::RelocatedConstants,
        _ if header.is_writable() => Use::Data,
        _ => Use::ReadOnlyData,
    }
}

/// The tables of the dynamic table, as (file offset, bytes, use).
fn by_dynamic_table(object: &Object<'_>) -> Vec<(u64, u64, Use)> {
    let mut parts = Vec::new();
    for table in object.relocations.all_tables() {
        parts.push((table.file_offset().0, table.size(), Use::Relocations));
    }
    if let Some(relr) = &object.relocations.relr {
        parts.push((relr.file_offset().0, relr.size(), Use::Relocations));
    }
    let symbols = object.dynamic_symbols.table();
    parts.push((symbols.file_offset().0, symbols.bytes().len() as u64, Use::DynamicSymbols));
    let strings = object.tag(Tag::STRTAB).and_then(|address| object.file.offset_of(coldstart_elf::Vaddr(address)));
    if let (Some(offset), Some(size)) = (strings, object.tag(Tag::STRSZ)) {
        parts.push((offset.0, size, Use::DynamicSymbols));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_claim_wins_and_gaps_are_padding() {
        let parts = vec![(10..20, Use::Code), (15..30, Use::Data)];
        let uses = add_up(parts, 40);
        let of = |purpose| uses.iter().find(|part| part.purpose == purpose).map_or(0, |part| part.bytes);
        assert_eq!((of(Use::Code), of(Use::Data), of(Use::Padding)), (10, 10, 20));
    }

    proptest! {
        #[test]
        fn every_byte_counts_once(claims in prop::collection::vec((0_u64..1000, 0_u64..300), 0..30)) {
            let parts = claims.into_iter().map(|(start, length)| (start..(start + length).min(1000), Use::Data));
            let parts: Vec<_> = parts.filter(|(range, _)| !range.is_empty()).collect();
            let uses = add_up(parts, 1000);
            prop_assert_eq!(uses.iter().map(|part| part.bytes).sum::<u64>(), 1000);
        }
    }
}
