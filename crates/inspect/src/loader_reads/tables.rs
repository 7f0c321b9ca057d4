//! The tables other than relocations that the loader reads, page by page.

use coldstart_elf::{NameRoom, SegmentKind, Tag, Vaddr, VersionTable};

use super::readahead::Disk;
use crate::file_pages::page_of;
use crate::object::Object;

/// Touches all pages with the bytes from `offset`.
fn touch_bytes(disk: &mut Disk, offset: u64, bytes: u64) {
    if bytes > 0 {
        let last = offset.saturating_add(bytes).saturating_sub(1);
        (page_of(offset)..=page_of(last)).for_each(|page| disk.touch(page));
    }
}

/// Touches a part of the file, given as a slice of the file's bytes.
fn touch_part(object: &Object<'_>, disk: &mut Disk, part: &[u8]) {
    let start = object.file.bytes().as_ptr().addr();
    if let Some(offset) = part.as_ptr().addr().checked_sub(start) {
        // The terminating zero of a name is read as well.
        touch_bytes(disk, offset as u64, (part.len() as u64).saturating_add(1));
    }
}

/// The headers that the kernel and the loader read before they map a file.
pub(super) fn headers(object: &Object<'_>, disk: &mut Disk) {
    let header = object.file.header();
    let count = u64::from(header.segment_count);
    touch_bytes(disk, header.segments_offset.0, count.saturating_mul(header.segment_entry_size.into()));
    if let Some(segment) = object.file.segment(SegmentKind::Interpreter) {
        touch_bytes(disk, segment.offset.0, segment.file_size.min(object.file.size()));
    }
}

pub(super) fn dynamic_table(object: &Object<'_>, disk: &mut Disk) {
    if let Some(dynamic) = &object.dynamic {
        // All entries up to the end mark, which has the size of the others.
        let spare = dynamic.spare_entries() as u64;
        let entry = object.file.encoding().word_size().saturating_mul(2);
        touch_bytes(disk, dynamic.file_offset().0, dynamic.size().saturating_sub(spare.saturating_mul(entry)));
    }
}

/// The four numbers at its beginning (glibc `elf/dl-setup_hash.c`).
pub(super) fn hash_table(object: &Object<'_>, disk: &mut Disk) {
    let table = object.tag(Tag::GNU_HASH).or_else(|| object.tag(Tag::HASH));
    if let Some(offset) = table.and_then(|address| object.file.offset_of(Vaddr(address))) {
        touch_bytes(disk, offset.0, 16);
    }
}

pub(super) fn names(object: &Object<'_>, disk: &mut Disk) {
    let Some(dynamic) = &object.dynamic else { return };
    let Ok(strings) = object.file.dynamic_strings(dynamic) else { return };
    let mut room = NameRoom::of(&object.file);
    for tag in [Tag::SONAME, Tag::RPATH, Tag::RUNPATH, Tag::NEEDED] {
        let names = dynamic.all(tag).filter_map(|offset| strings.get(offset));
        names.take_while(|name| room.take(name).is_ok()).for_each(|name| touch_part(object, disk, name));
    }
}

/// The records of both tables, and the names of needed versions, which are compared (glibc `elf/dl-version.c`).
pub(super) fn versions(object: &Object<'_>, disk: &mut Disk) {
    let Some(dynamic) = &object.dynamic else { return };
    let Ok(table) = VersionTable::parse(&object.file, dynamic) else { return };
    let place = |tag| dynamic.get(tag).and_then(|address| object.file.offset_of(Vaddr(address)));
    // All records of needed versions have 16 bytes.
    let records = table
        .needed()
        .iter()
        .fold(0, |count: u64, file| count.saturating_add(1).saturating_add(file.versions.len() as u64));
    if let Some(offset) = place(Tag::VERNEED) {
        touch_bytes(disk, offset.0, records.saturating_mul(16));
    }
    for file in table.needed() {
        touch_part(object, disk, file.file);
        file.versions.iter().for_each(|version| touch_part(object, disk, version.name));
    }
    // A definition has 20 bytes, and 8 for its name and for each parent.
    let size = table.defined().iter().fold(0, |size: u64, version| {
        let names = (version.parents.len() as u64).saturating_add(1);
        size.saturating_add(20).saturating_add(names.saturating_mul(8))
    });
    if let Some(offset) = place(Tag::VERDEF) {
        touch_bytes(disk, offset.0, size);
    }
}

/// Each thread gets a copy; the first thread's is made after relocation (glibc `elf/rtld.c`).
pub(super) fn thread_local_template(object: &Object<'_>, disk: &mut Disk) {
    if let Some(segment) = object.file.segment(SegmentKind::ThreadLocal) {
        touch_bytes(disk, segment.offset.0, segment.file_size.min(object.file.size()));
    }
}
