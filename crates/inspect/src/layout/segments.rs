//! The mapped segments, and the unused bytes between them.
//!
//! Readahead reads padding like anything else, and padding separates parts that a start needs together.

use std::ops::Range;

use coldstart_elf::{Class, ElfFile, Section, Segment};
use serde::Serialize;

use super::text;
use crate::file_pages::{PAGE, merged, round_down, round_up, uncovered};

/// A segment that is mapped (`PT_LOAD`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadSegment {
    /// Its file offset.
    pub file_offset: u64,
    /// Bytes that come from the file.
    pub file_bytes: u64,
    /// Its address, before the load bias.
    pub address: u64,
    /// Its size in memory in bytes; zero-filled past the file part.
    pub memory_bytes: u64,
    /// Its flags, such as `r-x`.
    pub flags: String,
    /// Its alignment in bytes (`p_align`).
    pub alignment_bytes: u64,
    /// File pages mapped for it. The first and the last may be shared with a neighbour.
    pub file_pages: u64,
    /// Name of its first section; none without sections.
    pub first_section: Option<String>,
    /// Name of its last section.
    pub last_section: Option<String>,
    /// Number of its sections.
    pub section_count: u64,
    /// Unused bytes of the file between the previous segments and this one: in no section and no header.
    pub padding_before_bytes: u64,
    /// Reserved, unused memory between the previous segment and this one, in bytes; whole pages.
    pub address_hole_before_bytes: u64,
}

pub(super) fn segments(file: &ElfFile<'_>) -> Vec<LoadSegment> {
    let used = used_parts(file);
    let mut sections: Vec<&Section<'_>> = file.sections().iter().filter(|section| is_in_memory(section)).collect();
    sections.sort_by_key(|section| section.header.address);
    let in_file = Ends::of(file.load_segments().map(file_range));
    let in_memory = Ends::of(file.load_segments().map(|segment| segment.address.0..segment.end().0));
    let described = file.load_segments().map(|segment| LoadSegment {
        padding_before_bytes: padding_before(file, segment, &used, &in_file),
        address_hole_before_bytes: hole_before(segment, &in_memory),
        ..describe(segment, &sections)
    });
    described.collect()
}

/// Everything except what depends on the other segments.
fn describe(segment: &Segment, sections: &[&Section<'_>]) -> LoadSegment {
    let inside = sections_of(segment, sections);
    let name = |section: Option<&&Section<'_>>| section.map(|section| text(section.name));
    LoadSegment {
        file_offset: segment.offset.0,
        file_bytes: segment.file_size,
        address: segment.address.0,
        memory_bytes: segment.memory_size,
        flags: flags(segment),
        alignment_bytes: segment.alignment,
        file_pages: file_pages(segment),
        first_section: name(inside.first()),
        last_section: name(inside.last()),
        section_count: inside.len() as u64,
        padding_before_bytes: 0,
        address_hole_before_bytes: 0,
    }
}

pub(super) fn flags(segment: &Segment) -> String {
    let flags = [(segment.is_readable(), 'r'), (segment.is_writable(), 'w'), (segment.is_executable(), 'x')];
    flags.iter().map(|(is_set, letter)| if *is_set { *letter } else { '-' }).collect()
}

pub(super) fn file_range(segment: &Segment) -> Range<u64> {
    segment.offset.0..segment.offset.0.saturating_add(segment.file_size)
}

fn file_pages(segment: &Segment) -> u64 {
    let part = file_range(segment);
    if part.is_empty() {
        return 0;
    }
    round_up(part.end, PAGE).saturating_sub(round_down(part.start, PAGE)) / PAGE
}

/// Whether it has memory of its own. (`.tbss` has an address, but its memory is per thread.)
fn is_in_memory(section: &Section<'_>) -> bool {
    let header = &section.header;
    header.is_loaded() && header.size > 0 && !(header.is_thread_local() && header.file_size() == 0)
}

/// The sections, sorted by address, that begin in the segment.
fn sections_of<'sections, 'file, 'data>(
    segment: &Segment,
    sections: &'sections [&'file Section<'data>],
) -> &'sections [&'file Section<'data>] {
    let first = sections.partition_point(|section| section.header.address < segment.address);
    let rest = sections.get(first..).unwrap_or_default();
    let count = rest.partition_point(|section| section.header.address < segment.end());
    rest.get(..count).unwrap_or_default()
}

/// All used parts of the file, including sections that are not loaded.
fn used_parts(file: &ElfFile<'_>) -> Vec<Range<u64>> {
    let header = file.header();
    let header_size = match header.encoding.class {
        Class::Elf32 => 52,
        Class::Elf64 => 64,
    };
    let table = |offset: u64, count: usize, entry_size: u16| {
        offset..offset.saturating_add((count as u64).saturating_mul(entry_size.into()))
    };
    let headers = [
        0..header_size,
        table(header.segments_offset.0, file.segments().len(), header.segment_entry_size),
        table(header.sections_offset.0, file.sections().len(), header.section_entry_size),
    ];
    let sections = file.sections().iter().map(|section| {
        let start = section.header.offset.0;
        start..start.saturating_add(section.header.file_size())
    });
    merged(headers.into_iter().chain(sections).chain(file.load_segments().map(file_range)).collect())
}

fn padding_before(file: &ElfFile<'_>, segment: &Segment, used: &[Range<u64>], ends: &Ends) -> u64 {
    let start = ends.before(segment.offset.0);
    // A truncated file has no bytes there.
    let end = segment.offset.0.min(file.size());
    uncovered(start.min(end)..end, used)
}

fn hole_before(segment: &Segment, ends: &Ends) -> u64 {
    match ends.before(segment.address.0) {
        0 => 0,
        end => round_down(segment.address.0, PAGE).saturating_sub(round_up(end, PAGE)),
    }
}

/// The ends of parts that begin before an offset. A hostile file has thousands of segments, so each is visited once.
struct Ends {
    /// The start of each part, and the largest end up to it, in ascending order.
    largest: Vec<(u64, u64)>,
}

impl Ends {
    fn of(parts: impl Iterator<Item = Range<u64>>) -> Self {
        let mut largest: Vec<(u64, u64)> = parts.map(|part| (part.start, part.end)).collect();
        largest.sort_unstable();
        let mut end = 0;
        for part in &mut largest {
            end = part.1.max(end);
            part.1 = end;
        }
        Self { largest }
    }

    /// The largest end of the parts that begin before `place`; 0 if there are none.
    fn before(&self, place: u64) -> u64 {
        let count = self.largest.partition_point(|(start, _)| *start < place);
        let last = count.checked_sub(1).and_then(|index| self.largest.get(index));
        last.map_or(0, |(_, end)| *end)
    }
}
