//! Offsets and flags in the table's bytes, shared by writer and reader: docs/formats/audit-table.md. The library's
//! own reader is `stubs/audit/table.h`.

/// The table's magic number; the digit is the format version.
pub(super) const MAGIC: &[u8; 8] = b"COLDTBL1";

/// Size of the header, in bytes.
pub(super) const HEADER_SIZE: usize = 64;

/// Offsets of the header's fields in the table. Each is an unsigned number of 4 bytes.
pub(super) mod field {
    pub(in super::super) const CHECKSUM: usize = 8;
    pub(in super::super) const SIZE: usize = 12;
    pub(in super::super) const FLAGS: usize = 16;
    pub(in super::super) const GROUP_COUNT: usize = 20;
    pub(in super::super) const PROGRAM_GROUP: usize = 24;
    pub(in super::super) const REQUESTERS: usize = 28;
    pub(in super::super) const REQUESTER_COUNT: usize = 32;
    pub(in super::super) const ENTRIES: usize = 36;
    pub(in super::super) const ENTRY_COUNT: usize = 40;
    pub(in super::super) const STRINGS: usize = 44;
    pub(in super::super) const STRINGS_SIZE: usize = 48;
    pub(in super::super) const SCRATCH: usize = 52;
    pub(in super::super) const SCRATCH_SIZE: usize = 56;
}

/// Flags of the header.
pub(super) const CHECKS_FILES: u32 = 1;
pub(super) const RELATIVE_REQUESTERS: u32 = 2;

/// Flags in the upper half of a group number.
pub(super) const FROM_PROGRAM: u32 = 0x8000_0000;
pub(super) const BEFORE_LIBRARY_PATH: u32 = 0x4000_0000;
pub(super) const GROUP: u32 = 0xffff;

/// Size of the record of a requester and of an entry, in bytes.
pub(super) const REQUESTER_SIZE: usize = 12;
pub(super) const ENTRY_SIZE: usize = 16;

/// `PATH_MAX` of linux/limits.h: the longest path with its final zero.
pub(super) const PATH_MAXIMUM: usize = 4096;

const HASH_START: u32 = 0x811c_9dc5;

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn hash(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(HASH_START, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The hash of a name in a group, or of a requester's path; for the latter, the second number says whether it is
/// relative.
pub(super) fn hash_name(name: &[u8], group: u32) -> u32 {
    let [low, high, ..] = group.to_le_bytes();
    hash(name.iter().copied().chain([low, high]))
}

/// The checksum of a header, with its own field as zero.
pub(super) fn checksum(header: &[u8]) -> u32 {
    let own = field::CHECKSUM..field::SIZE;
    hash(header.iter().take(HEADER_SIZE).enumerate().map(|(at, &byte)| if own.contains(&at) { 0 } else { byte }))
}
