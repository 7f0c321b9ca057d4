//! The superblock (`struct erofs_super_block`).

use crate::crc32c::erofs_checksum;
use crate::entry::Timestamp;

use super::error::{ReadError, Result};
use super::source::{ReadAt, u16_at, u32_at, u64_at};

/// Where it lies.
const OFFSET: u64 = 1024;
const SIZE: usize = 128;
const MAGIC: u32 = 0xe0f5_e1e2;

/// Offsets of fields.
mod field {
    pub(super) const MAGIC: usize = 0;
    pub(super) const CHECKSUM: usize = 4;
    pub(super) const COMPATIBLE: usize = 8;
    pub(super) const BLOCK_BITS: usize = 12;
    pub(super) const ROOT: usize = 14;
    pub(super) const INODES: usize = 16;
    pub(super) const TIME: usize = 24;
    pub(super) const TIME_NANOSECONDS: usize = 32;
    pub(super) const BLOCKS: usize = 36;
    pub(super) const METADATA_BLOCK: usize = 40;
    pub(super) const XATTR_BLOCK: usize = 44;
    pub(super) const UUID: usize = 48;
    pub(super) const VOLUME_NAME: usize = 64;
    pub(super) const INCOMPATIBLE: usize = 80;
    pub(super) const COMPRESSIONS: usize = 84;
    pub(super) const EXTRA_DEVICES: usize = 86;
    pub(super) const DIRECTORY_BITS: usize = 90;
    pub(super) const WIDE_ROOT: usize = 112;
}

/// The superblock has a checksum (`EROFS_FEATURE_COMPAT_SB_CHKSUM`).
const HAS_CHECKSUM: u32 = 1;
/// What the image may use and we read: zero padding of compressed data, parameters of compressors, tables of chunks, and 48-bit addresses with
/// compressed data that begins at any byte. Other forms of compression are refused file by file.
const KNOWN: u32 = 1 | 2 | 4 | WIDE;
/// `EROFS_FEATURE_INCOMPAT_48BIT`.
const WIDE: u32 = 0x80;
/// Parameters of compressors (`EROFS_FEATURE_INCOMPAT_COMPR_CFGS`).
const PARAMETERS: u32 = 2;
/// Bit of zstd in the set of compressions.
const ZSTD: u16 = 1 << 3;
/// Smallest and largest block size, as powers of two.
const BLOCK_BITS: std::ops::RangeInclusive<u8> = 9..=16;

/// What the superblock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The number of the root's inode.
    pub root: u64,
    /// Number of inodes.
    pub inodes: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Time of compact inodes: when the image was made.
    pub time: Timestamp,
    /// Its UUID.
    pub uuid: [u8; 16],
    /// Its volume name, padded with NULs.
    pub volume_name: [u8; 16],
    /// Whether it has a checksum, which was right.
    pub has_checksum: bool,
    /// Whether files may have tables of compressed units with zstd.
    pub(super) has_units: bool,
    pub(super) block_bits: u32,
    pub(super) metadata_block: u32,
    pub(super) xattr_block: u32,
}

impl Superblock {
    pub(super) fn read(source: &impl ReadAt, size: u64) -> Result<Self> {
        let mut bytes = [0; SIZE];
        if size < OFFSET.saturating_add(SIZE as u64) {
            return Err(ReadError::NotErofs);
        }
        let io = |source| ReadError::Io { offset: OFFSET, source };
        source.read_exact_at(&mut bytes, OFFSET).map_err(io)?;
        if u32_at(&bytes, field::MAGIC) != MAGIC {
            return Err(ReadError::NotErofs);
        }
        let at = |field: usize| OFFSET.saturating_add(field as u64);
        let block_bits = bytes.get(field::BLOCK_BITS).copied().unwrap_or(0);
        if !BLOCK_BITS.contains(&block_bits) {
            let (what, offset) = ("a block size", at(field::BLOCK_BITS));
            return Err(ReadError::Unsupported { what, value: block_bits.into(), offset });
        }
        let has_checksum = u32_at(&bytes, field::COMPATIBLE) & HAS_CHECKSUM != 0;
        if has_checksum {
            check(source, size, block_bits.into(), u32_at(&bytes, field::CHECKSUM))?;
        }
        refuse_unknown(&bytes)?;
        let copied = |from: usize| bytes.get(from..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        Ok(Self {
            root: u16_at(&bytes, field::ROOT).into(),
            inodes: u64_at(&bytes, field::INODES),
            blocks: u32_at(&bytes, field::BLOCKS),
            time: Timestamp {
                seconds: u64_at(&bytes, field::TIME).cast_signed(),
                nanoseconds: u32_at(&bytes, field::TIME_NANOSECONDS),
            },
            uuid: copied(field::UUID),
            volume_name: copied(field::VOLUME_NAME),
            has_checksum,
            has_units: u32_at(&bytes, field::INCOMPATIBLE) & (WIDE | PARAMETERS) == WIDE | PARAMETERS
                && u16_at(&bytes, field::COMPRESSIONS) & ZSTD != 0,
            block_bits: block_bits.into(),
            metadata_block: u32_at(&bytes, field::METADATA_BLOCK),
            xattr_block: u32_at(&bytes, field::XATTR_BLOCK),
        })
    }

    /// Size of a block in bytes.
    pub fn block_size(&self) -> u64 {
        1 << self.block_bits
    }

    /// Size of the image in bytes.
    pub fn length(&self) -> u64 {
        u64::from(self.blocks) << self.block_bits
    }

    /// Offset of a block.
    pub(super) fn block_offset(&self, block: u32) -> u64 {
        u64::from(block) << self.block_bits
    }
}

/// The checksum covers the rest of the superblock's block, or one whole block where blocks are not larger than its offset.
fn check(source: &impl ReadAt, size: u64, block_bits: u32, expected: u32) -> Result<()> {
    let block = 1u64 << block_bits;
    let length = if block > OFFSET { block.saturating_sub(OFFSET) } else { block };
    if OFFSET.saturating_add(length) > size {
        return Err(ReadError::OutOfImage { what: "its first block", offset: OFFSET, needed: length, available: size });
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    source.read_exact_at(&mut bytes, OFFSET).map_err(|source| ReadError::Io { offset: OFFSET, source })?;
    if let Some(field) = bytes.get_mut(field::CHECKSUM..field::COMPATIBLE) {
        field.fill(0);
    }
    let found = erofs_checksum(&bytes);
    if found == expected { Ok(()) } else { Err(ReadError::Checksum { found, expected }) }
}

fn refuse_unknown(bytes: &[u8; SIZE]) -> Result<()> {
    let unsupported = |what, value: u64, field: usize| {
        if value == 0 {
            return Ok(());
        }
        Err(ReadError::Unsupported { what, value, offset: OFFSET.saturating_add(field as u64) })
    };
    let incompatible = u32_at(bytes, field::INCOMPATIBLE);
    unsupported("the features", u64::from(incompatible & !KNOWN), field::INCOMPATIBLE)?;
    if incompatible & WIDE != 0 {
        unsupported("a root inode with a large number", u64_at(bytes, field::WIDE_ROOT), field::WIDE_ROOT)?;
    }
    unsupported("other devices", u16_at(bytes, field::EXTRA_DEVICES).into(), field::EXTRA_DEVICES)?;
    let directory_bits = bytes.get(field::DIRECTORY_BITS).copied().unwrap_or(0);
    unsupported("larger blocks of directories", directory_bits.into(), field::DIRECTORY_BITS)
}
