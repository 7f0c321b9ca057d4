//! Built files in which single fields are made wrong. For 64-bit little-endian files, which is what the compiler makes.

use coldstart_elf::{DynamicTable, ElfFile, Tag};

/// Offsets of fields in the ELF header.
pub(crate) const FILE_TYPE: usize = 16;
pub(crate) const SECTIONS_OFFSET: usize = 40;
pub(crate) const SEGMENT_COUNT: usize = 56;
pub(crate) const SECTION_COUNT: usize = 60;
pub(crate) const SECTION_NAMES_INDEX: usize = 62;
/// Offsets of fields in a section header, and its size.
pub(crate) const SECTION_SIZE: usize = 32;
pub(crate) const SECTION_INFO: usize = 44;
pub(crate) const SECTION_HEADER: usize = 64;

/// A copy with another number of `size` bytes at `offset`.
pub(crate) fn with(bytes: &[u8], offset: usize, size: usize, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
    bytes
}

/// A copy without section headers; the sections' bytes stay.
pub(crate) fn without_sections(bytes: &[u8]) -> Vec<u8> {
    with(&with(bytes, SECTIONS_OFFSET, 8, 0), SECTION_COUNT, 4, 0)
}

/// A copy in which an entry of the dynamic table has another value.
pub(crate) fn with_dynamic(bytes: &[u8], tag: Tag, value: u64) -> Vec<u8> {
    let file = ElfFile::parse(bytes).unwrap();
    let table: DynamicTable<'_> = file.dynamic().unwrap().unwrap();
    let index = table.entries().position(|entry| entry.tag == tag).unwrap();
    with(bytes, table.file_offset().0 as usize + index * 16 + 8, 8, value)
}

/// Where the file's section headers begin, and their number.
pub(crate) fn section_headers(bytes: &[u8]) -> (usize, usize) {
    let file = ElfFile::parse(bytes).unwrap();
    (file.header().sections_offset.0 as usize, file.sections().len())
}
