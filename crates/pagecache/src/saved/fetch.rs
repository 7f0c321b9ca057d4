//! Reading saved pages back in, and no others.
//!
//! `POSIX_FADV_RANDOM` makes the kernel read only the requested pages; without it, readahead
//! would read up to twice as much. The bytes are read and discarded: `POSIX_FADV_WILLNEED` would avoid the copy, but it
//! stops silently at the device's readahead window, and does not report errors.
//!
//! Files are opened twice, once to find their pages' device offsets and once to read them in that order.
//! The first time reads inodes, which the program that starts afterwards would find in memory as well.
//!
//! Source: `mm/readahead.c`, `page_cache_sync_ra` and `force_page_cache_ra`.

use std::os::fd::{AsFd, OwnedFd};

use coldstart_profile::PageRange;
use coldstart_sys::fiemap::{Extent, fiemap};
use coldstart_sys::named_file::{InodeKind, LastLink, NamedFile};
use rustix::fs::Advice;
use rustix::io::Errno;

use super::SavedFile;
use super::look::identity;
use super::missing::MissingReason;
use crate::block_device;

/// Longest single read, in bytes.
const LONGEST_READ: u64 = 1 << 20;

/// Ranges of one file farther apart than this on the device are read separately, to avoid seeks back and forth
/// on a disk. 64 MiB take about a second.
const FAR: u64 = 64 << 20;

/// A part of a file whose pages are close together on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// The file's index, as counted by the caller.
    pub(super) file: usize,
    ranges: &'a [PageRange],
    /// Device offset, in bytes, where known.
    place: Option<u64>,
}

/// Opens a saved file, if it is still the saved one.
pub(super) fn open_saved(file: &SavedFile) -> Result<OwnedFd, MissingReason> {
    // A replaced file is not opened: opening could have effects.
    let found = NamedFile::find(&file.path, LastLink::Keep).map_err(|error| MissingReason::of_error(&error))?;
    if found.kind() != InodeKind::Regular {
        return Err(MissingReason::OtherKind);
    }
    let (opened, stat) = found.open_quietly().map_err(|error| MissingReason::of_error(&error))?;
    let now = identity(&stat);
    if now == file.identity { Ok(opened.into()) } else { Err(MissingReason::Changed { now }) }
}

/// The pieces of a file, or why there are none.
pub(super) fn pieces(number: usize, file: &SavedFile) -> Result<Vec<Piece<'_>>, MissingReason> {
    let opened = open_saved(file)?;
    // Without device offsets, file order has to do.
    let extents = fiemap(&opened).unwrap_or_default();
    Ok(cut(number, &file.ranges, &extents))
}

fn cut<'a>(number: usize, ranges: &'a [PageRange], extents: &[Extent]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut start, mut start_place, mut last) = (0, None, None);
    for (index, range) in ranges.iter().enumerate() {
        let place = place(extents, range);
        let far = |(last, place): (u64, u64)| place < last || place - last > FAR;
        if index == 0 {
            start_place = place;
        } else if last.zip(place).is_some_and(far) {
            pieces.extend(ranges.get(start..index).map(|ranges| Piece { file: number, ranges, place: start_place }));
            (start, start_place) = (index, place);
        }
        last = place.or(last);
    }
    pieces.extend(ranges.get(start..).map(|ranges| Piece { file: number, ranges, place: start_place }));
    pieces
}

/// The device offset of a range; extents are sorted.
fn place(extents: &[Extent], range: &PageRange) -> Option<u64> {
    let offset = range.offset();
    let before = extents.partition_point(|extent| extent.file_offset <= offset);
    let extent = extents.get(before.checked_sub(1)?)?;
    let within = offset.checked_sub(extent.file_offset).filter(|within| *within < extent.length)?;
    extent.device_offset()?.checked_add(within)
}

/// Sorts pieces by device offset. Those without one come first, in file order.
pub(super) fn sort(pieces: &mut [Piece<'_>], files: &[SavedFile]) {
    pieces.sort_by_key(|piece| (files.get(piece.file).map(|file| file.device), piece.place, piece.file));
}

/// Reads the pages of a piece.
pub(super) fn fetch(piece: &Piece<'_>, file: &SavedFile) -> Result<(), MissingReason> {
    let opened = open_saved(file)?;
    read(&opened, piece.ranges, file.identity.size).map_err(MissingReason::ReadFailed)
}

/// Reads the saved pages of a block device.
pub(super) fn fetch_device(device: &SavedFile) -> Result<(), MissingReason> {
    let opened = block_device::open(&device.path).map_err(|error| MissingReason::of_error(&error))?;
    if opened.size != device.identity.size {
        let now = coldstart_profile::FileIdentity { size: opened.size, modified: 0 };
        return Err(MissingReason::Changed { now });
    }
    read(&opened.file, &device.ranges, opened.size).map_err(MissingReason::ReadFailed)
}

/// Reads every range as far as possible; returns the first error.
fn read(file: impl AsFd, ranges: &[PageRange], size: u64) -> rustix::io::Result<()> {
    rustix::fs::fadvise(&file, 0, None, Advice::Random)?;
    let longest = ranges.iter().map(PageRange::length).max().unwrap_or(0).min(LONGEST_READ);
    let mut buffer = vec![0u8; usize::try_from(longest).unwrap_or(0)];
    let mut result = Ok(());
    for range in ranges {
        let (mut at, end) = (range.offset(), range.offset().saturating_add(range.length()).min(size));
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
            match rustix::io::pread(&file, buffer.get_mut(..length).unwrap_or_default(), at) {
                // It has been truncated meanwhile; the check will report it.
                Ok(0) => break,
                Ok(count) => at = at.saturating_add(count as u64),
                Err(Errno::INTR) => {}
                Err(errno) => {
                    result = result.and(Err(errno));
                    break;
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_sys::fiemap::ExtentFlags;

    #[test]
    fn pieces_follow_the_disk() {
        let extent = |page: u64, pages: u64, physical| Extent {
            file_offset: page * 4096,
            physical,
            length: pages * 4096,
            flags: ExtentFlags(0),
        };
        let extents = [extent(0, 10, 1 << 30), extent(10, 10, 1 << 20), extent(30, 10, (1 << 20) + 40960)];
        let ranges: Vec<_> = [(1, 2), (5, 1), (12, 1), (25, 1), (31, 1)]
            .iter()
            .filter_map(|&(start, count)| PageRange::new(start, count))
            .collect();
        let cut = |extents: &[Extent]| {
            let pieces = cut(7, &ranges, extents);
            pieces.iter().map(|piece| (piece.ranges.len(), piece.place)).collect::<Vec<_>>()
        };
        assert_eq!(cut(&extents), [(2, Some((1 << 30) + 4096)), (3, Some((1 << 20) + 8192))]);
        assert_eq!(cut(&[]), [(5, None)], "a hole and an unknown place do not cut");
    }
}
