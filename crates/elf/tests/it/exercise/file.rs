//! The file itself: headers, segments, sections, the dynamic table, strings, and the way from addresses to bytes.

use std::hint::black_box;

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, FileOffset, Segment, SegmentKind, Tag, Vaddr};

use super::{MOST_STEPS, walk};

/// Calls everything that [`ElfFile`] itself offers.
pub fn exercise(bytes: &[u8]) {
    let file = match ElfFile::parse(bytes) {
        Ok(file) => file,
        Err(error) => {
            black_box(error.to_string());
            return;
        }
    };
    assert_eq!(file.size(), bytes.len() as u64);
    black_box((file.header().machine_name(), file.interpreter(), file.section_problem().map(ToString::to_string)));
    for section in file.sections().iter().take(MOST_STEPS) {
        if let Ok(bytes) = file.section_bytes(&section.header) {
            assert_eq!(bytes.len() as u64, section.header.file_size());
        }
        black_box((section.header.contains(section.header.address), section.header.is_compressed()));
    }
    walk([".text", "", ".dynamic"].map(|name| file.section(name)));
    addresses(&file);
    if let Ok(Some(dynamic)) = file.dynamic() {
        dynamic_table(&file, &dynamic);
    }
}

fn addresses(file: &ElfFile<'_>) {
    assert!(file.load_segments().all(|segment| segment.kind == SegmentKind::Load));
    let edges = |segment: &Segment| {
        [segment.address, segment.file_end(), segment.end(), Vaddr(segment.offset.0), Vaddr(segment.file_size)]
    };
    let around = |address: Vaddr| [-1, 0, 1].map(|step| Vaddr(address.0.wrapping_add_signed(step)));
    let fixed = [Vaddr(0), Vaddr(u64::MAX), Vaddr(1 << 63), file.header().entry];
    let places = file.segments().iter().take(64).flat_map(edges).chain(fixed).flat_map(around);
    for address in places {
        let from = file.memory_from(address);
        assert!(from.is_none_or(|bytes| !bytes.is_empty()));
        if from.is_some() {
            assert!(file.offset_of(address).is_some_and(|offset| offset.0 < file.size()));
        }
        for size in [0, 1, 8, file.size(), u64::MAX] {
            if let Ok(bytes) = file.memory_bytes("a table", address, size) {
                assert_eq!(bytes.len() as u64, size);
            }
            if let Ok(table) = file.table_at::<DynamicEntry>("a table", address, size) {
                walk(table.iter());
                assert_eq!(table.get(table.len()), None);
                black_box((table.offset_of(usize::MAX), table.iter().next_back()));
            }
            black_box(file.file_bytes("a table", FileOffset(address.0), size).is_ok());
        }
    }
}

fn dynamic_table(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) {
    for entry in dynamic.entries().take(MOST_STEPS) {
        assert_ne!(entry.tag, Tag::NULL);
        black_box(entry.tag.name(file.encoding().machine));
    }
    black_box((dynamic.binds_now(), dynamic.is_pie(), dynamic.is_symbolic(), dynamic.has_text_relocations()));
    black_box((dynamic.len(), dynamic.spare_entries(), dynamic.size(), dynamic.address(), dynamic.file_offset()));
    if let Ok(strings) = file.dynamic_strings(dynamic) {
        let offsets = [Tag::NEEDED, Tag::SONAME, Tag::RUNPATH].map(|tag| dynamic.all(tag));
        for offset in offsets.into_iter().flatten().take(MOST_STEPS).chain([u64::MAX, strings.size()]) {
            assert!(strings.get(offset).is_none_or(|name| !name.contains(&0)));
        }
    }
}
