//! The metadata: superblock, inodes with attributes and tables of chunks, blocks of directories. One pass, in the order of places.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::entry::{DeviceNumber, Entry, EntryKind};
use crate::plan::layout::{BLOCK, HOLE, SUPERBLOCK, SUPERBLOCK_SIZE};
use crate::plan::units::{header_offset, records_offset};
use crate::plan::{Compression, Data, FileMap, Plan, PlannedInode, encode_directory, xattr};

use crate::index::Sign;

use super::packed::{Packed, Stored, WINDOW_LOG};
use super::stream::Stream;

/// Offset of the checksum in the superblock.
pub(super) const CHECKSUM: usize = 4;
/// Offset of the UUID in the superblock.
pub(super) const UUID: usize = 48;

const MAGIC: u32 = 0xe0f5_e1e2;
/// The superblock has a checksum; inodes' times are those of modification.
const COMPATIBLE_FEATURES: u32 = 1 | 2;
/// Some files have tables of chunks.
const CHUNKED_FILE: u32 = 4;
const BLOCK_BITS: u8 = 12;
const VOLUME_NAME: [u8; 16] = *b"coldstart\0\0\0\0\0\0\0";

/// Compressed data is found by its exact length, the superblock is followed by compressors' parameters, and compressed data may begin at
/// any byte (`EROFS_FEATURE_INCOMPAT_ZERO_PADDING`, `_COMPR_CFGS`, `_48BIT`).
const COMPRESSED: u32 = 1 | 2 | 0x80;
/// Number of the compression (`Z_EROFS_COMPRESSION_ZSTD`).
const ZSTD: u32 = 3;
/// Of a table of units: each record has all fields but the last ones (`Z_EROFS_ADVISE_EXTENTS`, 4 << 2 bytes a record).
const TABLE_OF_UNITS: u16 = 1 | 2 << 1;

const FLAT_PLAIN: u16 = 0;
const COMPRESSED_FULL: u16 = 1;
const FLAT_INLINE: u16 = 2;
const CHUNK_BASED: u16 = 4;

/// Writes it, except for the first block. Returns that, with zeros for checksum and UUID, and the digest of all.
pub(super) fn write(file: &File, plan: &Plan, packed: &Packed) -> io::Result<(Vec<u8>, [u8; 32])> {
    let mut stream = Stream::new(file);
    stream.put(&Sign { hot: packed.size.metadata, front: plan.front_length }.encode())?;
    stream.pad_to(SUPERBLOCK)?;
    stream.put(&superblock(plan, packed))?;
    for (number, inode) in plan.inodes.iter().enumerate() {
        let Some(entry) = plan.entry(inode) else { continue };
        stream.pad_to(inode.offset)?;
        stream.put(&inode_bytes(number, inode, entry, packed))?;
        stream.put(&xattr::encode(&entry.attributes.xattrs))?;
        match &inode.data {
            Data::None => {}
            Data::Packed { size, inline, .. } => {
                let whole = size - inline;
                if *inline > 0 {
                    put_packed(&mut stream, plan, number, whole, None)?;
                }
            }
            Data::File(map) => match packed.files.get(&number) {
                Some((stored, _)) => put_units(&mut stream, map, stored)?,
                None => put_chunks(&mut stream, &packed.map(number, map))?,
            },
        }
    }
    for (number, inode) in plan.inodes.iter().enumerate() {
        if let Data::Packed { size, inline, block } = inode.data
            && size > inline
        {
            put_packed(&mut stream, plan, number, 0, Some((block, size - inline)))?;
        }
    }
    stream.pad_to(plan.size().metadata)?;
    stream.finish()
}

fn superblock(plan: &Plan, packed: &Packed) -> Vec<u8> {
    let root = plan.inodes.first().map_or(0, PlannedInode::number);
    let mut bytes = Vec::with_capacity(SUPERBLOCK_SIZE as usize);
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&COMPATIBLE_FEATURES.to_le_bytes());
    bytes.extend_from_slice(&[BLOCK_BITS, 0]);
    // The root is the first inode, so 16 bits are enough.
    bytes.extend_from_slice(&(root as u16).to_le_bytes());
    bytes.extend_from_slice(&plan.size().inodes.to_le_bytes());
    // The time of the build, which would make the bytes differ: only compact inodes use it.
    bytes.extend_from_slice(&[0; 12]);
    bytes.extend_from_slice(&((packed.size.total / BLOCK) as u32).to_le_bytes());
    // Inodes are counted from the image's start; shared attributes are not used.
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[0; 16]);
    bytes.extend_from_slice(&VOLUME_NAME);
    match plan.compression {
        Compression::None => {
            bytes.extend_from_slice(&CHUNKED_FILE.to_le_bytes());
            bytes.resize(SUPERBLOCK_SIZE as usize, 0);
        }
        Compression::Zstd => {
            bytes.extend_from_slice(&(CHUNKED_FILE | COMPRESSED).to_le_bytes());
            bytes.extend_from_slice(&(1u16 << ZSTD).to_le_bytes());
            bytes.resize(SUPERBLOCK_SIZE as usize, 0);
            // Their length, the frames' format, and the window's logarithm less 10 (`struct z_erofs_zstd_cfgs`).
            bytes.extend_from_slice(&[6, 0, 0, (WINDOW_LOG - 10) as u8, 0, 0, 0, 0]);
        }
    }
    bytes
}

/// An inode in the extended form (`struct erofs_inode_extended`).
fn inode_bytes(number: usize, inode: &PlannedInode, entry: &Entry, packed: &Packed) -> Vec<u8> {
    let attributes = &entry.attributes;
    let (layout, size, union) = match &inode.data {
        Data::None => (FLAT_PLAIN, 0, device(&entry.kind)),
        Data::Packed { size, inline: 0, block } => (FLAT_PLAIN, *size, *block as u32),
        Data::Packed { size, block, .. } => (FLAT_INLINE, *size, *block as u32),
        Data::File(map) => {
            let map = &packed.map(number, map);
            let size = match &entry.kind {
                EntryKind::Regular(content) => content.size,
                _ => 0,
            };
            // An empty file has no block.
            let place = if map.pages == 0 { 0 } else { map.cold as u32 };
            match packed.files.get(&number) {
                Some((stored, _)) => {
                    let bytes: u64 = stored.iter().map(|unit| u64::from(unit.length)).sum();
                    (COMPRESSED_FULL, size, bytes.div_ceil(BLOCK) as u32)
                }
                None if map.chunked => (CHUNK_BASED, size, map.chunk_bits),
                None => (FLAT_PLAIN, size, place),
            }
        }
    };
    let mut bytes = Vec::with_capacity(64);
    let mut put = |field: &[u8]| bytes.extend_from_slice(field);
    put(&(1 | layout << 1).to_le_bytes());
    put(&xattr::count_field(xattr::size(&attributes.xattrs)).to_le_bytes());
    put(&((file_type(&entry.kind).0 | attributes.mode & 0o7777) as u16).to_le_bytes());
    put(&[0; 2]);
    put(&size.to_le_bytes());
    put(&union.to_le_bytes());
    // Numbers for programs that know 32 bits only.
    put(&(number as u32 + 1).to_le_bytes());
    put(&attributes.user.to_le_bytes());
    put(&attributes.group.to_le_bytes());
    put(&attributes.modified.seconds.to_le_bytes());
    put(&attributes.modified.nanoseconds.to_le_bytes());
    put(&inode.links.to_le_bytes());
    put(&[0; 16]);
    bytes
}

/// The type in the mode, and in directory entries (`FT_*` in `include/linux/fs_types.h`).
fn file_type(kind: &EntryKind) -> (u32, u8) {
    match kind {
        EntryKind::Regular(_) | EntryKind::HardLink(_) => (0o100_000, 1),
        EntryKind::Directory => (0o040_000, 2),
        EntryKind::CharacterDevice(_) => (0o020_000, 3),
        EntryKind::BlockDevice(_) => (0o060_000, 4),
        EntryKind::Fifo => (0o010_000, 5),
        EntryKind::Socket => (0o140_000, 6),
        EntryKind::Symlink(_) => (0o120_000, 7),
    }
}

/// The kernel's 32-bit form of a device number (`new_encode_dev`, `include/linux/kdev_t.h`).
fn device(kind: &EntryKind) -> u32 {
    match kind {
        EntryKind::CharacterDevice(DeviceNumber { major, minor })
        | EntryKind::BlockDevice(DeviceNumber { major, minor }) => minor & 0xff | major << 8 | (minor & !0xff) << 12,
        _ => 0,
    }
}

/// The bytes of a directory or a link's target: the inline end from `from` on, or whole blocks at a place.
fn put_packed(stream: &mut Stream, plan: &Plan, number: usize, from: u64, whole: Option<(u64, u64)>) -> io::Result<()> {
    let Some((inode, entry)) = plan.inodes.get(number).and_then(|inode| Some((inode, plan.entry(inode)?))) else {
        return Ok(());
    };
    if let Some((block, _)) = whole {
        stream.pad_to(block * BLOCK)?;
    }
    if let EntryKind::Symlink(target) = &entry.kind {
        return stream.put(target.as_bytes());
    }
    let blocks = plan.directory(inode);
    let skip = (from / BLOCK) as usize;
    let take = whole.map_or(usize::MAX, |(_, size)| size.div_ceil(BLOCK) as usize);
    for (index, names) in blocks.into_iter().enumerate().skip(skip).take(take) {
        if let Some((block, _)) = whole {
            stream.pad_to((block + index as u64) * BLOCK)?;
        }
        let entries: Vec<(&[u8], u64, u8)> = names
            .into_iter()
            .filter_map(|(name, child)| {
                let child = match (child, name) {
                    (Some(child), _) => child,
                    (None, b".") => number,
                    (None, _) => inode.parent,
                };
                let child = plan.inodes.get(child)?;
                Some((name, child.number(), file_type(&plan.entry(child)?.kind).1))
            })
            .collect();
        stream.put(&encode_directory(&entries))?;
    }
    Ok(())
}

/// The table of chunks: the block of each one.
fn put_chunks(stream: &mut Stream, map: &FileMap) -> io::Result<()> {
    if !map.chunked {
        return Ok(());
    }
    for segment in map.segments() {
        let mut page = segment.pages.start;
        while page < segment.pages.end {
            let block = segment.block.map_or(HOLE, |block| (block + page - segment.pages.start) as u32);
            stream.put(&block.to_le_bytes())?;
            page += 1 << map.chunk_bits;
        }
    }
    Ok(())
}

/// The table of units: number of records, then where each unit lies in the image and in the file (`struct z_erofs_extent`).
fn put_units(stream: &mut Stream, map: &FileMap, stored: &[Stored]) -> io::Result<()> {
    let inode_end = stream.position();
    stream.pad_to(header_offset(inode_end))?;
    stream.put(&(stored.len() as u32).to_le_bytes())?;
    stream.put(&TABLE_OF_UNITS.to_le_bytes())?;
    stream.pad_to(records_offset(inode_end))?;
    for (unit, Stored { place, length, is_frame }) in map.units.iter().zip(stored) {
        let format = if *is_frame { (ZSTD + 1) << 28 } else { 0 };
        stream.put(&(length | format).to_le_bytes())?;
        stream.put(&place.to_le_bytes())?;
        stream.put(&(unit.pages.start * BLOCK as u32).to_le_bytes())?;
    }
    Ok(())
}
