//! Inodes, compact and extended (`struct erofs_inode_compact`, `struct erofs_inode_extended`).

use crate::entry::{DeviceNumber, Timestamp};

use super::Image;
use super::error::{ReadError, Result};
use super::source::{ReadAt, u16_at, u32_at, u64_at};

/// Inodes lie at multiples of this.
const SLOT: u64 = 32;
const COMPACT: usize = 32;
const EXTENDED: usize = 64;
const WHAT: &str = "an inode";

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A symbolic link.
    Symlink,
}

impl InodeType {
    fn of_mode(mode: u16) -> Option<Self> {
        Some(match mode & 0o170_000 {
            0o100_000 => Self::Regular,
            0o040_000 => Self::Directory,
            0o020_000 => Self::CharacterDevice,
            0o060_000 => Self::BlockDevice,
            0o010_000 => Self::Fifo,
            0o140_000 => Self::Socket,
            0o120_000 => Self::Symlink,
            _ => return None,
        })
    }

    /// The number in directory entries.
    pub(super) fn in_directory(self) -> u8 {
        match self {
            Self::Regular => 1,
            Self::Directory => 2,
            Self::CharacterDevice => 3,
            Self::BlockDevice => 4,
            Self::Fifo => 5,
            Self::Socket => 6,
            Self::Symlink => 7,
        }
    }
}

/// A file of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inode {
    /// Its number.
    pub number: u64,
    /// Where it lies in the image.
    pub offset: u64,
    /// The kind of file.
    pub file_type: InodeType,
    /// Permission bits (`07777`).
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Number of names.
    pub links: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time; of a compact inode the image's.
    pub modified: Timestamp,
    /// Of a device.
    pub device: DeviceNumber,
    pub(super) layout: Layout,
    /// Size of the inode itself.
    pub(super) header: u64,
    /// Size of its extended attributes.
    pub(super) xattrs: u64,
}

/// How a file's bytes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In consecutive blocks.
    Plain { block: u32 },
    /// In consecutive blocks, except for the last part, which lies behind the attributes.
    Inline { block: u32 },
    /// By a table of chunks of `1 << bits` bytes, with records of 4 or 8 bytes.
    Chunks { bits: u32, record: u64 },
    /// By a table of units, each of which may be compressed.
    Units { count: u32 },
}

impl Inode {
    /// Whether its content is stored in units that may be compressed.
    pub fn is_packed(&self) -> bool {
        matches!(self.layout, Layout::Units { .. })
    }

    /// Where the part behind its attributes begins.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.header).saturating_add(self.xattrs)
    }
}

impl<S: ReadAt> Image<S> {
    /// An inode by its number.
    ///
    /// # Errors
    /// [`ReadError`]: outside the image, malformed, or compressed.
    pub fn inode(&self, number: u64) -> Result<Inode> {
        let base = self.superblock.block_offset(self.superblock.metadata_block);
        let offset =
            number.checked_mul(SLOT).and_then(|offset| offset.checked_add(base)).ok_or(ReadError::OutOfImage {
                what: WHAT,
                offset: u64::MAX,
                needed: COMPACT as u64,
                available: self.available,
            })?;
        let mut bytes = [0; EXTENDED];
        let (compact, rest) = bytes.split_at_mut(COMPACT);
        self.raw(WHAT, offset, compact)?;
        let format = u16_at(compact, 0);
        let is_extended = format & 1 == 1;
        if is_extended {
            self.raw(WHAT, offset.saturating_add(COMPACT as u64), rest)?;
        }
        if format & !0xf != 0 {
            return Err(ReadError::Unsupported { what: "a form of inodes", value: format.into(), offset });
        }
        let mode = u16_at(&bytes, 4);
        let file_type =
            InodeType::of_mode(mode).ok_or(ReadError::malformed(WHAT, offset, "its mode has no type that is known"))?;
        let count = u16_at(&bytes, 2);
        let xattrs = match count {
            0 => 0,
            1 => return Err(ReadError::malformed(WHAT, offset, "it has attributes without any")),
            count => u64::from(count).saturating_sub(1).saturating_mul(4).saturating_add(12),
        };
        let union = u32_at(&bytes, 16);
        let layout = self.layout(format >> 1 & 7, union, offset)?;
        let is_device = matches!(file_type, InodeType::CharacterDevice | InodeType::BlockDevice);
        let common = Inode {
            number,
            offset,
            file_type,
            mode: u32::from(mode) & 0o7777,
            user: u16_at(&bytes, 24).into(),
            group: u16_at(&bytes, 26).into(),
            links: u16_at(&bytes, 6).into(),
            size: u32_at(&bytes, 8).into(),
            modified: self.superblock.time,
            device: if is_device { device(union) } else { DeviceNumber { major: 0, minor: 0 } },
            layout,
            header: COMPACT as u64,
            xattrs,
        };
        let inode = match is_extended {
            false => common,
            true => Inode {
                user: u32_at(&bytes, 24),
                group: u32_at(&bytes, 28),
                links: u32_at(&bytes, 44),
                size: u64_at(&bytes, 8),
                modified: Timestamp { seconds: u64_at(&bytes, 32).cast_signed(), nanoseconds: u32_at(&bytes, 40) },
                header: EXTENDED as u64,
                ..common
            },
        };
        self.check("extended attributes", inode.offset.saturating_add(inode.header), xattrs)?;
        let inode = match inode.layout {
            Layout::Units { .. } => Inode { layout: Layout::Units { count: self.unit_count(&inode)? }, ..inode },
            _ => inode,
        };
        if inode.modified.nanoseconds >= 1_000_000_000 {
            return Err(ReadError::malformed(WHAT, offset, "its time has more than a second of nanoseconds"));
        }
        // The kernel's limit (`MAX_LFS_FILESIZE`).
        if inode.size > i64::MAX.unsigned_abs() {
            return Err(ReadError::malformed(WHAT, offset, "its size is above 2^63"));
        }
        Ok(inode)
    }

    fn layout(&self, layout: u16, union: u32, offset: u64) -> Result<Layout> {
        match layout {
            0 => Ok(Layout::Plain { block: union }),
            2 => Ok(Layout::Inline { block: union }),
            4 => {
                // Bits 0 to 4: chunk size, bit 5: records of 8 bytes.
                if union & 0xffff & !0x3f != 0 {
                    return Err(ReadError::Unsupported { what: "a form of chunks", value: union.into(), offset });
                }
                let bits = self.superblock.block_bits.saturating_add(union & 0x1f);
                Ok(Layout::Chunks { bits, record: if union & 0x20 != 0 { 8 } else { 4 } })
            }
            // Their number follows the attributes.
            1 if self.superblock.has_units => Ok(Layout::Units { count: 0 }),
            1 | 3 => Err(ReadError::Unsupported { what: "compression", value: layout.into(), offset }),
            _ => Err(ReadError::Unsupported { what: "a layout of data", value: layout.into(), offset }),
        }
    }
}

/// From the kernel's 32-bit form (`new_decode_dev`).
fn device(number: u32) -> DeviceNumber {
    DeviceNumber { major: number >> 8 & 0xfff, minor: number & 0xff | number >> 12 & 0xf_ff00 }
}
