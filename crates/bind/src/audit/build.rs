//! Builds the whole library: the compiled code with a table in place of the empty one.
//!
//! The empty table is at the end of the file part of the template's last segment, so a longer one needs no new
//! address. The section names and section headers after it move.

use coldstart_elf::{ByteOrder, Class, ElfFile, Encoding, FileOffset, SegmentKind};

use super::architecture::Architecture;
use super::encode::encode;
use super::error::BuildError;
use super::table::Table;

/// The section that holds the table.
pub(super) const TABLE_SECTION: &str = ".coldstart";

/// Builds an audit library with this table.
///
/// # Errors
/// If the table cannot represent a name or path, or is too small for all of them.
pub fn build(architecture: Architecture, table: &Table) -> Result<Vec<u8>, BuildError> {
    let template = Template::of(architecture)?;
    let mut table = encode(table, template.encoding.byte_order)?;
    let size = table.len() as u64;
    // The rest of the file keeps its alignment; the section headers need the most: 8.
    let growth = size.saturating_sub(template.table_size).next_multiple_of(8);
    table.resize(growth.saturating_add(template.table_size) as usize, 0);
    let mut bytes = template.before.to_vec();
    bytes.extend_from_slice(&table);
    bytes.extend_from_slice(template.behind);
    template.enlarge(&mut bytes, size, growth);
    Ok(bytes)
}

/// A compiled library and the position of its empty table.
struct Template {
    encoding: Encoding,
    before: &'static [u8],
    behind: &'static [u8],
    table_size: u64,
    /// File offsets of words that grow by the table's growth.
    later: Vec<FileOffset>,
    /// File offsets of words that grow by the table's own size only, without padding.
    larger: Vec<FileOffset>,
}

impl Template {
    fn of(architecture: Architecture) -> Result<Self, BuildError> {
        let damaged = |reason| BuildError::Template { architecture: architecture.name(), reason };
        let bytes = architecture.template();
        let file = ElfFile::parse(bytes).map_err(|_| damaged("not an ELF file"))?;
        let section = file.section(TABLE_SECTION).ok_or_else(|| damaged("missing section .coldstart"))?.header;
        let end = section.offset.checked_add(section.size).ok_or_else(|| damaged("the table's size overflows"))?;
        let (before, behind) =
            split(bytes, section.offset, end).ok_or_else(|| damaged("truncated before the table"))?;
        let places = FieldOffsets::of(file.encoding().class);
        let last = file.segments().iter().rposition(|segment| segment.kind == SegmentKind::Load);
        let last = last.ok_or_else(|| damaged("no segments"))?;
        let load = file.segments().get(last).ok_or_else(|| damaged("no segments"))?;
        if load.offset.checked_add(load.file_size) != Some(end) || load.memory_size != load.file_size {
            return Err(damaged("the table is not at the end of the last segment"));
        }
        let header = file.header();
        let record = |table: FileOffset, size: u64, index: usize, field: u64| {
            FileOffset(table.0.saturating_add(size.saturating_mul(index as u64)).saturating_add(field))
        };
        let segment_field = |field| record(header.segments_offset, header.segment_entry_size.into(), last, field);
        let mut later = vec![FileOffset(places.sections_offset)];
        let mut larger = vec![segment_field(places.segment_file_size), segment_field(places.segment_memory_size)];
        for (index, other) in file.sections().iter().enumerate() {
            let field = |field| record(header.sections_offset, header.section_entry_size.into(), index, field);
            if other.name == TABLE_SECTION.as_bytes() {
                larger.push(field(places.section_size));
            } else if other.header.offset >= end {
                later.push(field(places.section_offset));
            }
        }
        if header.sections_offset < end {
            return Err(damaged("the section headers are not at the end of the file"));
        }
        Ok(Self { encoding: file.encoding(), before, behind, table_size: section.size, later, larger })
    }

    /// Updates the headers.
    fn enlarge(&self, bytes: &mut [u8], size: u64, growth: u64) {
        let by = size.saturating_sub(self.table_size);
        for &place in &self.larger {
            self.add(bytes, place, by, growth);
        }
        for &place in &self.later {
            self.add(bytes, place, growth, growth);
        }
    }

    /// Adds to a number of the template, whose offset may have moved.
    fn add(&self, bytes: &mut [u8], place: FileOffset, more: u64, growth: u64) {
        let moved = if place.0 < self.before.len() as u64 { 0 } else { growth };
        let at = place.0.saturating_add(moved) as usize;
        let width = self.encoding.word_size() as usize;
        let Some(number) = bytes.get_mut(at..at.saturating_add(width)) else { return };
        let Some(value) = self.encoding.word(number) else { return };
        let value = value.saturating_add(more);
        match (self.encoding.class, self.encoding.byte_order) {
            (Class::Elf64, ByteOrder::Little) => number.copy_from_slice(&value.to_le_bytes()),
            (Class::Elf64, ByteOrder::Big) => number.copy_from_slice(&value.to_be_bytes()),
            (Class::Elf32, ByteOrder::Little) => number.copy_from_slice(&(value as u32).to_le_bytes()),
            (Class::Elf32, ByteOrder::Big) => number.copy_from_slice(&(value as u32).to_be_bytes()),
        }
    }
}

fn split(bytes: &'static [u8], start: FileOffset, end: FileOffset) -> Option<(&'static [u8], &'static [u8])> {
    let (start, end) = (usize::try_from(start.0).ok()?, usize::try_from(end.0).ok()?);
    Some((bytes.get(..start)?, bytes.get(end..)?))
}

/// Offsets of the changing fields in their records (gABI, "ELF Header", "Program Header", "Section Header").
struct FieldOffsets {
    sections_offset: u64,
    segment_file_size: u64,
    segment_memory_size: u64,
    section_offset: u64,
    section_size: u64,
}

impl FieldOffsets {
    fn of(class: Class) -> Self {
        match class {
            Class::Elf32 => Self {
                sections_offset: 32,
                segment_file_size: 16,
                segment_memory_size: 20,
                section_offset: 16,
                section_size: 20,
            },
            Class::Elf64 => Self {
                sections_offset: 40,
                segment_file_size: 32,
                segment_memory_size: 40,
                section_offset: 24,
                section_size: 32,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::audit::{Found, Group, Place, Requester};

    fn table_with(name: &str, place: Place) -> Table {
        let found = Found { place, before_library_path: false };
        Table { for_all: BTreeMap::from([(name.into(), found)]), ..Table::default() }
    }

    #[test]
    fn what_the_loader_would_change_is_refused() {
        let refused = |table: &Table| build(Architecture::X86_64, table).unwrap_err().to_string();
        let dollar = refused(&table_with("a", Place::Absolute("/$ORIGIN/a".into())));
        assert!(dollar.contains("`/$ORIGIN/a`: it contains a `$`"), "{dollar}");
        for place in [Place::Absolute("a".into()), Place::FromProgram("/a".into())] {
            assert!(refused(&table_with("a", place)).contains("begin with a slash"));
        }
        assert!(refused(&table_with("a", Place::Absolute(vec![b'/'; 4096]))).contains("PATH_MAX"));
        assert!(refused(&table_with("a", Place::Absolute("/a\0b".into()))).contains("zero byte"));
        assert!(refused(&table_with("", Place::Absolute("/a".into()))).contains("not a valid library name"));
        let group = Group { requesters: BTreeSet::from([Requester::Program]), ..Group::default() };
        let twice = Table { groups: vec![group.clone(), group], ..Table::default() };
        assert!(refused(&twice).contains("more than one group"));
        let many = Table { groups: vec![Group::default(); 65536], ..Table::default() };
        assert!(refused(&many).contains("limit 65535"));
    }

    #[test]
    fn the_table_is_the_end_of_what_is_mapped() {
        for architecture in Architecture::ALL {
            let long = format!("/{}", "x".repeat(3001));
            let library = build(architecture, &table_with("a", Place::Absolute(long.into_bytes()))).unwrap();
            let file = ElfFile::parse(&library).unwrap();
            let load = *file.load_segments().last().unwrap();
            let section = file.section(TABLE_SECTION).unwrap().header;
            assert_eq!(section.offset.0 + section.size, load.offset.0 + load.file_size);
            assert_eq!(load.memory_size, load.file_size);
            assert!(section.size > 3000 && file.section_problem().is_none());
            assert_eq!(Architecture::of(file.encoding()), Some(architecture));
            assert_eq!(file.header().sections_offset.0 % 4, 0);
            let end = file.header().sections_offset.0
                + u64::from(file.header().section_count) * u64::from(file.header().section_entry_size);
            assert_eq!(end, library.len() as u64);
        }
    }
}
