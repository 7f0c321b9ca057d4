//! Layout of a plan file. All numbers are little-endian.

/// First bytes of each plan.
pub const MAGIC: [u8; 8] = *b"coldplan";
/// Version this build writes, and the newest it reads.
pub(super) const VERSION: u32 = 1;

pub(super) const HEADER_SIZE: usize = 144;
pub(super) const TARGET_SIZE: usize = 32;
pub(super) const STEP_SIZE: usize = 32;

/// The checksum covers everything from here to the end.
pub(super) const CHECKED_FROM: usize = 32;

/// Offsets in the header.
pub(super) mod header {
    pub(in super::super) const VERSION: usize = 8;
    pub(in super::super) const LENGTH: usize = 16;
    pub(in super::super) const CHECKSUM: usize = 24;
    pub(in super::super) const RECORDED_AT: usize = 32;
    pub(in super::super) const RECORDED_START: usize = 40;
    pub(in super::super) const HOT_START: usize = 48;
    pub(in super::super) const WINDOWS_BEFORE_START: usize = 56;
    pub(in super::super) const THREADS: usize = 60;
    pub(in super::super) const CHUNK_PAGES: usize = 64;
    pub(in super::super) const DEVICE_SEEKS: usize = 68;
    pub(in super::super) const DEVICE_LATENCY: usize = 72;
    pub(in super::super) const DEVICE_BANDWIDTH: usize = 80;
    pub(in super::super) const DEVICE_PARALLEL: usize = 88;
    /// Number of command words, after it the table counts.
    pub(in super::super) const COMMAND_WORDS: usize = 92;
    pub(in super::super) const PREDICTED_REPLAY: usize = 96;
    pub(in super::super) const PREDICTED_START: usize = 104;
    pub(in super::super) const TARGET_COUNT: usize = 112;
    pub(in super::super) const STEP_COUNT: usize = 116;
    /// Length of the command: words, each ended by a NUL.
    pub(in super::super) const COMMAND_LENGTH: usize = 120;
    /// Length of the names: all paths, one by one.
    pub(in super::super) const NAMES_LENGTH: usize = 124;
}

/// Offsets in a target's record.
pub(super) mod target {
    pub(in super::super) const NAME: usize = 0;
    pub(in super::super) const NAME_LENGTH: usize = 4;
    pub(in super::super) const KIND: usize = 8;
    pub(in super::super) const SIZE: usize = 16;
    pub(in super::super) const MODIFIED: usize = 24;
}

/// Numbers of the kinds in a target's record.
pub(super) mod kind {
    pub(in super::super) const FILE: u32 = 0;
    pub(in super::super) const REWRITTEN_FILE: u32 = 1;
    pub(in super::super) const BLOCK_DEVICE: u32 = 2;
    pub(in super::super) const NAME: u32 = 3;
    pub(in super::super) const DIRECTORY: u32 = 4;
}

/// Offsets in a step's record.
pub(super) mod step {
    pub(in super::super) const TARGET: usize = 0;
    pub(in super::super) const WINDOW: usize = 4;
    pub(in super::super) const START_PAGE: usize = 8;
    /// 0 for names and directories.
    pub(in super::super) const PAGES: usize = 16;
    /// Microseconds.
    pub(in super::super) const FIRST_USE: usize = 20;
    /// `u64::MAX` when not known.
    pub(in super::super) const PHYSICAL: usize = 24;
}
