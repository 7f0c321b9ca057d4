//! The section of each event.
//!
//! It could be queried from the tables, but neither fast nor in a few words of SQL: a page often contains parts of
//! several sections, and segments shift addresses relative to file offsets. So it is determined once, when the event
//! is written.

use std::collections::HashMap;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{Event, EventKind, FileId, ObjectSection, Trace, TracedObject};

/// Finds sections by their numbers in the trace file: counted through all objects.
pub(crate) struct SectionsTouched<'a> {
    objects: HashMap<FileId, Object<'a>>,
}

struct Object<'a> {
    object: &'a TracedObject,
    first_section: i64,
    /// What was found for a page, by its number and whether that is of an address.
    known: HashMap<(u64, bool), Option<i64>>,
}

impl<'a> SectionsTouched<'a> {
    /// For the events of a trace; `objects` says which object a file is.
    pub(crate) fn new(trace: &'a Trace, objects: HashMap<FileId, usize>) -> Self {
        let mut first_sections = Vec::with_capacity(trace.objects.len());
        let mut first_section = 0;
        for object in &trace.objects {
            first_sections.push(first_section);
            first_section += crate::values::place(object.sections.len());
        }
        let object = |(file, number): (FileId, usize)| {
            let first_section = *first_sections.get(number)?;
            Some((file, Object { object: trace.objects.get(number)?, first_section, known: HashMap::new() }))
        };
        Self { objects: objects.into_iter().filter_map(object).collect() }
    }

    /// The section that was used: the instruction's of calls and instruction fetches, else the one that has most of the
    /// event's first page.
    pub(crate) fn of(&mut self, event: &Event) -> Option<i64> {
        let object = self.objects.get_mut(&event.file?)?;
        let (by_code, by_address) = match event.kind {
            EventKind::Touch(touch) => (touch.execute, touch.zero_filled),
            EventKind::Function => (true, false),
            EventKind::Read | EventKind::Fill(_) => (false, false),
        };
        if by_code
            && let Some(code) = event.code.filter(|code| event.file == Some(code.file))
            && let Some(section) = object.section_at(code.address)
        {
            return Some(section);
        }
        let Object { object, first_section, known } = object;
        *known.entry((event.page, by_address)).or_insert_with(|| {
            let number = with_most_of_page(object, event.page, by_address)?;
            Some(*first_section + crate::values::place(number))
        })
    }
}

impl Object<'_> {
    fn section_at(&self, address: u64) -> Option<i64> {
        let behind = self.object.sections.partition_point(|section| section.address <= address);
        let number = behind.checked_sub(1)?;
        let section = self.object.sections.get(number)?;
        let inside = address.checked_sub(section.address)?;
        (inside < section.size).then(|| self.first_section + crate::values::place(number))
    }
}

/// The first of those sections that have most bytes of a page.
fn with_most_of_page(object: &TracedObject, page: u64, by_address: bool) -> Option<usize> {
    let begin = page.checked_mul(PAGE_SIZE)?;
    let end = begin.saturating_add(PAGE_SIZE);
    let bytes = |section: &ObjectSection| {
        // Zero-filled memory has no bytes in the file, and a page by its address has nothing but such memory.
        // `.tbss` has an address and no memory there: each thread has its own copy elsewhere.
        if section.is_zero_filled != by_address || section.name == ".tbss" {
            return 0;
        }
        let first = if by_address { section.address } else { section.offset };
        first.saturating_add(section.size).min(end).saturating_sub(first.max(begin))
    };
    let mut most = None;
    for (number, section) in object.sections.iter().enumerate() {
        let bytes = bytes(section);
        if bytes > most.map_or(0, |(_, most)| most) {
            most = Some((number, bytes));
        }
    }
    most.map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, address: u64, offset: u64, size: u64, is_zero_filled: bool) -> ObjectSection {
        ObjectSection { name: name.to_owned(), address, offset, size, entry_size: 0, is_zero_filled }
    }

    #[test]
    fn the_section_with_most_of_a_page_has_it() {
        let object = TracedObject {
            file: FileId(0),
            soname: None,
            build_id: None,
            machine: 62,
            is_64_bit: true,
            entry: 0,
            segments: Vec::new(),
            sections: vec![
                section(".tdata", 0x3f00, 0x2f00, 0x180, false),
                section(".tbss", 0x4080, 0x3080, 0x8000, true),
                section(".data", 0x4080, 0x3080, 0x1000, false),
                section(".bss", 0x5080, 0x4080, 0x3000, true),
            ],
            symbols: Vec::new(),
            relocations: Vec::new(),
        };
        let of = |page, by_address| with_most_of_page(&object, page, by_address);
        assert_eq!(of(2, false), Some(0));
        assert_eq!(of(3, false), Some(2));
        assert_eq!(of(4, false), Some(2));
        assert_eq!(of(5, false), None);
        assert_eq!(of(6, true), Some(3));
        assert_eq!(of(0xa, true), None);
        assert_eq!(of(u64::MAX, true), None);
    }
}
