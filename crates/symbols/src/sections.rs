//! The loaded sections of an object.
//!
//! The loader does not need sections, so they may be missing or wrong; then the loader's own tables replace them, see
//! `made_up_sections`. Each byte belongs to at most one section, because a page's touch must not count twice.

use coldstart_elf::{ElfFile, Section, SectionKind, Vaddr};
use coldstart_profile::trace::ObjectSection;

use super::made_up_sections::made_up_sections;

/// A section, and whether it holds code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadedSection {
    pub(super) section: ObjectSection,
    pub(super) is_executable: bool,
}

impl LoadedSection {
    /// First address after it; saturates.
    pub(super) fn end(&self) -> u64 {
        self.section.address.saturating_add(self.section.size)
    }

    /// Whether it contains PLT stubs: `.plt`, `.plt.got`, `.plt.sec`, `.iplt`.
    pub(super) fn is_linkage(&self) -> bool {
        self.section.name.starts_with(".plt") || self.section.name.starts_with(".iplt")
    }
}

/// All loaded sections, ascending by address, not empty, not overlapping.
pub(super) fn loaded_sections(file: &ElfFile<'_>) -> Vec<LoadedSection> {
    let listed: Vec<LoadedSection> = file.sections().iter().filter_map(|section| from_header(file, section)).collect();
    if listed.is_empty() { made_up_sections(file) } else { apart(listed) }
}

/// The section at an address.
pub(super) fn section_at(sections: &[LoadedSection], address: u64) -> Option<&LoadedSection> {
    let behind = sections.partition_point(|section| section.section.address <= address);
    sections.get(behind.checked_sub(1)?).filter(|section| address < section.end())
}

/// The longest name that is kept, in bytes. Sections may share a name, and each entry of a trace has its section's.
const LONGEST_NAME: usize = 255;

/// A section's name, or its beginning.
pub(super) fn section_name(section: &Section<'_>) -> String {
    String::from_utf8_lossy(section.name.get(..LONGEST_NAME).unwrap_or(section.name)).into_owned()
}

fn from_header(file: &ElfFile<'_>, section: &Section<'_>) -> Option<LoadedSection> {
    let header = &section.header;
    let is_zero_filled = header.kind == SectionKind::Zeros;
    // `.tbss` states the size per thread, at addresses that belong to the next section.
    if !header.is_loaded() || header.size == 0 || (header.is_thread_local() && is_zero_filled) {
        return None;
    }
    file.segment_at(header.address)?;
    Some(LoadedSection {
        section: ObjectSection {
            name: section_name(section),
            address: header.address.0,
            offset: header.offset.0,
            size: header.size,
            entry_size: header.entry_size,
            is_zero_filled,
        },
        is_executable: header.is_executable(),
    })
}

/// Orders sections; of two that overlap, the later start wins.
pub(super) fn apart(mut sections: Vec<LoadedSection>) -> Vec<LoadedSection> {
    sections.sort_by_key(|section| (section.section.address, std::cmp::Reverse(section.section.size)));
    sections.dedup_by_key(|section| section.section.address);
    let starts: Vec<u64> = sections.iter().skip(1).map(|section| section.section.address).collect();
    for (section, next) in sections.iter_mut().zip(starts) {
        let section = &mut section.section;
        section.size = section.size.min(next.saturating_sub(section.address));
    }
    sections
}

/// A section that is known by its place in memory.
pub(super) fn placed(
    file: &ElfFile<'_>,
    name: &str,
    address: u64,
    size: u64,
    entry_size: u64,
) -> Option<LoadedSection> {
    let segment = file.segment_at(Vaddr(address))?;
    let inside = address.saturating_sub(segment.address.0);
    let size = size.min(segment.end().0.saturating_sub(address));
    (size > 0).then(|| LoadedSection {
        section: ObjectSection {
            name: name.to_owned(),
            address,
            offset: segment.offset.0.saturating_add(inside),
            size,
            entry_size,
            is_zero_filled: inside >= segment.file_size,
        },
        is_executable: segment.is_executable(),
    })
}

#[cfg(test)]
mod tests {
    use super::{LoadedSection, apart, section_at};
    use coldstart_profile::trace::ObjectSection;
    use proptest::prelude::*;

    fn section(number: usize, address: u64, size: u64) -> LoadedSection {
        let name = number.to_string();
        let section = ObjectSection { name, address, offset: address, size, entry_size: 0, is_zero_filled: false };
        LoadedSection { section, is_executable: false }
    }

    proptest! {
        #[test]
        fn no_byte_has_two_sections(places in prop::collection::vec((0_u64..300, 1_u64..80), 0..20)) {
            let sections: Vec<_> = places.iter().enumerate().map(|(number, (at, size))| section(number, *at, *size)).collect();
            let apart = apart(sections);
            prop_assert!(apart.is_sorted_by(|one, next| one.end() <= next.section.address));
            prop_assert!(apart.iter().all(|section| section.section.size > 0));
            for address in 0..400 {
                let nearest = places.iter().filter(|(at, _)| *at <= address).map(|(at, _)| *at).max();
                if let Some(found) = section_at(&apart, address) {
                    prop_assert_eq!(Some(found.section.address), nearest);
                }
            }
        }
    }
}
