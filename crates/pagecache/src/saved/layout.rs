//! Layout of a saved page cache file. All numbers are little-endian.

/// First bytes of each file.
pub const MAGIC: [u8; 8] = *b"coldpage";
/// Version this build writes, and the newest it reads.
pub(super) const VERSION: u32 = 1;

pub(super) const HEADER_SIZE: usize = 128;
pub(super) const ENTRY_SIZE: usize = 48;
pub(super) const RANGE_SIZE: usize = 16;

/// The checksum covers everything from here to the end.
pub(super) const CHECKED_FROM: usize = 16;

/// Flag: all storage file systems were saved.
pub(super) const WHOLE_SYSTEM: u32 = 1;

/// Offsets in the header.
pub(super) mod header {
    pub(in super::super) const VERSION: usize = 8;
    pub(in super::super) const CHECKSUM: usize = 12;
    pub(in super::super) const LENGTH: usize = 16;
    pub(in super::super) const FLAGS: usize = 24;
    pub(in super::super) const BASE_PAGE: usize = 28;
    pub(in super::super) const SAVED_AT: usize = 32;
    pub(in super::super) const BOOT_ID: usize = 40;
    pub(in super::super) const HIDDEN_FILES: usize = 56;
    pub(in super::super) const HIDDEN_DEVICES: usize = 64;
    /// Length of the kernel's release, the first of the names.
    pub(in super::super) const KERNEL_LENGTH: usize = 68;
    pub(in super::super) const ENTRIES: usize = 72;
    pub(in super::super) const RANGES: usize = 80;
    pub(in super::super) const NAMES_LENGTH: usize = 88;
}

/// Offsets in an entry's record.
pub(super) mod entry {
    pub(in super::super) const KIND: usize = 0;
    pub(in super::super) const NAME_LENGTH: usize = 4;
    pub(in super::super) const SIZE: usize = 8;
    pub(in super::super) const MODIFIED: usize = 16;
    pub(in super::super) const DEVICE: usize = 24;
    pub(in super::super) const INODE: usize = 32;
    pub(in super::super) const RANGES: usize = 40;
}

/// Numbers of the kinds of entries.
pub(super) mod kind {
    pub(in super::super) const FILE: u32 = 0;
    pub(in super::super) const BLOCK_DEVICE: u32 = 1;
    pub(in super::super) const DIRECTORY: u32 = 2;
    pub(in super::super) const LINK: u32 = 3;
}
