//! `FS_IOC_FIEMAP`: the device offsets of a file's extents.
//!
//! Not obvious: not every extent has a device offset. Delayed allocations have none yet, inline data is inside metadata,
//! and the bytes of compressed and encrypted extents differ from the file's. [`Extent::device_offset`] gives it only where
//! it is meaningful. On file systems over several devices (btrfs) `physical` is a logical address: still good for sorting.
//!
//! Source: `Documentation/filesystems/fiemap.rst`, `fs/ioctl.c` (`ioctl_fiemap`), `include/uapi/linux/fiemap.h`.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::ioctl::{self, opcode};

use crate::facility_error::FacilityError;

/// Flags of an extent, as in `FIEMAP_EXTENT_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    /// The last extent of the file.
    pub const LAST: u32 = 0x1;
    /// The device offset is unknown.
    pub const UNKNOWN: u32 = 0x2;
    /// Not yet allocated. Set together with [`Self::UNKNOWN`].
    pub const DELALLOC: u32 = 0x4;
    /// Compressed or the like: the bytes on the device are not the file's bytes.
    pub const ENCODED: u32 = 0x8;
    /// Encrypted by the file system.
    pub const DATA_ENCRYPTED: u32 = 0x80;
    /// Offset or length are not multiples of the block size.
    pub const NOT_ALIGNED: u32 = 0x100;
    /// Stored inside metadata, such as the inode.
    pub const DATA_INLINE: u32 = 0x200;
    /// Shares its block with the ends of other files.
    pub const DATA_TAIL: u32 = 0x400;
    /// Allocated, and reads as zeros without any I/O.
    pub const UNWRITTEN: u32 = 0x800;
    /// Merged from single blocks; the file system has no extents.
    pub const MERGED: u32 = 0x1000;
    /// Shared with other files.
    pub const SHARED: u32 = 0x2000;

    /// Whether any of the given bits is set.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }
}

/// A contiguous part of a file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// File offset, in bytes.
    pub file_offset: u64,
    /// Offset on the device, in bytes; see [`Extent::device_offset`] for whether it is meaningful.
    pub physical: u64,
    /// Length in bytes.
    pub length: u64,
    /// The file system's flags.
    pub flags: ExtentFlags,
}

impl Extent {
    /// The device offset from which the extent is read, in bytes; `None` if it has none: not allocated
    /// yet, unknown, inside metadata, or space that reads as zeros without I/O.
    ///
    /// Compressed extents have one: reading the file does read there, even if the lengths differ.
    pub fn device_offset(&self) -> Option<u64> {
        let nowhere = ExtentFlags::UNKNOWN | ExtentFlags::DELALLOC | ExtentFlags::DATA_INLINE | ExtentFlags::UNWRITTEN;
        (!self.flags.has(nowhere)).then_some(self.physical)
    }
}

/// Extents per call: 56 bytes each, 28 KiB.
const BATCH: usize = 512;

/// An upper bound against file systems that never report the end: 16 M extents, 512 MB.
const MOST_EXTENTS: usize = 1 << 24;

#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap`, whose size (without the array) is part of the ioctl's number.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; BATCH],
}

const FS_IOC_FIEMAP: ioctl::Opcode = opcode::read_write::<Header>(b'f', 11);

/// All extents of a file, in file order. Holes have none. Dirty data is not written first.
///
/// # Errors
/// [`FacilityError::Unsupported`] where the file system does not support it (tmpfs, overlayfs on some kernels, NFS, FUSE, /proc)
/// and for block devices; [`FacilityError::Failed`] for anything else.
pub fn fiemap(file: impl AsFd) -> Result<Vec<Extent>, FacilityError> {
    collect(BATCH, |start, room| batch(&file, start, room))
}

/// Calls `fetch(start, room)` until the last extent has come.
fn collect(
    room: usize,
    mut fetch: impl FnMut(u64, usize) -> Result<Vec<Extent>, FacilityError>,
) -> Result<Vec<Extent>, FacilityError> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let fetched = fetch(start, room)?;
        let Some(last) = fetched.last().copied() else { break };
        extents.extend(fetched);
        let next = last.file_offset.saturating_add(last.length);
        // Not every file system sets the last flag, and one that does not advance would loop for ever.
        if last.flags.has(ExtentFlags::LAST) || next <= start || extents.len() >= MOST_EXTENTS {
            break;
        }
        start = next;
    }
    Ok(extents)
}

/// Fetches at most `room` extents starting at byte `start`.
fn batch(file: impl AsFd, start: u64, room: usize) -> Result<Vec<Extent>, FacilityError> {
    const EMPTY: RawExtent =
        RawExtent { logical: 0, physical: 0, length: 0, reserved64: [0; 2], flags: 0, reserved: [0; 3] };
    let room = room.min(BATCH);
    let header =
        Header { start, length: u64::MAX - start, flags: 0, mapped_extents: 0, extent_count: room as u32, reserved: 0 };
    let mut request = Box::new(Request { header, extents: [EMPTY; BATCH] });
    // SAFETY: FS_IOC_FIEMAP reads and writes a `struct fiemap` followed by `extent_count` extents, which `Request` is: the
    // header, then room for `BATCH >= room` of them, without padding (checked below).
    let result = unsafe { ioctl::ioctl(file, ioctl::Updater::<FS_IOC_FIEMAP, Request>::new(&mut request)) };
    // EINVAL: a kind of file without extents, such as a pipe.
    result.map_err(|errno| FacilityError::new("FS_IOC_FIEMAP", errno, &[Errno::INVAL]))?;
    let mapped = (request.header.mapped_extents as usize).min(room);
    let extents = request.extents.iter().take(mapped).map(|raw| Extent {
        file_offset: raw.logical,
        physical: raw.physical,
        length: raw.length,
        flags: ExtentFlags(raw.flags),
    });
    Ok(extents.collect())
}

const _: () = assert!(size_of::<Header>() == 32 && size_of::<RawExtent>() == 56);
const _: () = assert!(size_of::<Request>() == 32 + 56 * BATCH);

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(file_offset: u64, length: u64, flags: u32) -> Extent {
        Extent { file_offset, physical: 1 << 20, length, flags: ExtentFlags(flags) }
    }

    #[test]
    fn batches_are_joined_until_the_last_flag() {
        for last in [ExtentFlags::LAST, 0] {
            let all = [extent(0, 10, 0), extent(10, 5, 0), extent(40, 5, last)];
            for room in 1..5 {
                let mut calls = 0;
                let fetch = |start: u64, room: usize| {
                    calls += 1;
                    Ok(all.iter().filter(|extent| extent.file_offset >= start).take(room).copied().collect())
                };
                assert_eq!(collect(room, fetch).unwrap(), all);
                assert_eq!(calls, 3usize.div_ceil(room) + usize::from(last == 0), "rooms {room}");
            }
        }
    }

    #[test]
    fn a_file_system_that_does_not_advance_ends() {
        let stuck = |_: u64, _: usize| Ok(vec![extent(0, 0, 0)]);
        assert_eq!(collect(1, stuck).unwrap().len(), 1);
        let around = |_: u64, _: usize| Ok(vec![extent(u64::MAX - 1, u64::MAX, 0)]);
        assert_eq!(collect(1, around).unwrap().len(), 2);
    }

    #[test]
    fn only_real_places_count() {
        assert_eq!(extent(0, 1, ExtentFlags::LAST | ExtentFlags::SHARED).device_offset(), Some(1 << 20));
        for flags in [ExtentFlags::UNKNOWN | ExtentFlags::DELALLOC, ExtentFlags::DATA_INLINE, ExtentFlags::UNWRITTEN] {
            assert_eq!(extent(0, 1, flags).device_offset(), None);
        }
    }

    #[test]
    fn pipes_have_no_extents() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert!(matches!(fiemap(&reader), Err(FacilityError::Unsupported { .. })));
    }
}
