//! The residency of an open file, with one query for most files.
//!
//! Most files of a system are fully resident or not at all, which one `cachestat` shows. Only the others, and
//! those on file systems where `cachestat` does not see the pages, need the queries of [`crate::CacheFile`].

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use coldstart_profile::{FileIdentity, PAGE_SIZE, PageIndex, PageRange, page_count};
use coldstart_sys::cachestat::cachestat;
use coldstart_sys::facility_error::FacilityError;
use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::cache_file::CacheFile;
use crate::file_system::Backing;
use crate::residency::{Cached, Detail, Unknown};

/// The result for a file.
pub(super) enum Look {
    /// The resident runs, in order, not adjacent, none past the file's size as `stat` gave it.
    Resident(Vec<PageRange>),
    /// Hidden from this caller.
    Hidden(Unknown),
}

/// The residency of an open file of `size` bytes.
///
/// # Errors
/// When the kernel fails.
pub(super) fn look(file: &OwnedFd, size: u64, backing: Backing) -> Result<Look, crate::Error> {
    let pages = page_count(size);
    if pages == 0 {
        return Ok(Look::Resident(Vec::new()));
    }
    if backing == Backing::Storage && rustix::param::page_size() as u64 == PAGE_SIZE {
        match cachestat(file, 0, size) {
            Ok(counts) if counts.cached == 0 => return Ok(Look::Resident(Vec::new())),
            Ok(counts) if counts.cached >= pages => {
                return Ok(Look::Resident(PageRange::new(0, pages).into_iter().collect()));
            }
            Err(FacilityError::NotPermitted { .. }) => return Ok(Look::Hidden(Unknown::NotPermitted)),
            // The full query handles it, or fails with the file's name.
            Ok(_) | Err(_) => {}
        }
    }
    let residency = CacheFile::from_fd(file.as_fd())?.residency(Detail::Ranges)?;
    Ok(match residency.cached {
        Cached::Known(known) => Look::Resident(cut(known.ranges.unwrap_or_default(), pages)),
        Cached::Unknown(unknown) => Look::Hidden(unknown),
    })
}

/// Without the pages from `end` on: the file may have grown since.
fn cut(ranges: Vec<PageRange>, end: u64) -> Vec<PageRange> {
    let cut = |range: PageRange| PageRange::new(range.start.0, range.end().0.min(end).saturating_sub(range.start.0));
    ranges.into_iter().filter_map(cut).collect()
}

/// Number of pages that two lists of ranges share; both ascend without overlaps.
pub(super) fn shared_pages(left: &[PageRange], right: &[PageRange]) -> u64 {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut shared = 0u64;
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let end: PageIndex = one.end().min(other.end());
        shared = shared.saturating_add(end.0.saturating_sub(one.start.max(other.start).0));
        if one.end() == end {
            left.next()
        } else {
            right.next()
        };
    }
    shared
}

/// Opens for reading without following a symbolic link, without blocking on a pipe, and without changing the access time
/// where that is permitted.
pub(super) fn open(directory: Option<&OwnedFd>, name: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let directory = directory.map_or(CWD, AsFd::as_fd);
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    match rustix::fs::openat(directory, name, flags | OFlags::NOATIME, Mode::empty()) {
        // Only the owner may use O_NOATIME.
        Err(Errno::PERM) => rustix::fs::openat(directory, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Size and modification time.
pub(super) fn identity(stat: &Stat) -> FileIdentity {
    FileIdentity::from_stat(stat.st_size, stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(pages: &[bool]) -> Vec<PageRange> {
        let list = (0u64..).zip(pages).filter(|(_, page)| **page).filter_map(|(page, _)| PageRange::new(page, 1));
        coldstart_profile::merge_ranges(list.collect(), 0)
    }

    proptest! {
        #[test]
        fn shared_pages_are_counted(pages in prop::collection::vec(any::<(bool, bool)>(), 0..60), end in 0u64..70) {
            let (left, right): (Vec<bool>, Vec<bool>) = pages.iter().copied().unzip();
            let shared = pages.iter().filter(|(left, right)| *left && *right).count() as u64;
            prop_assert_eq!(shared_pages(&ranges(&left), &ranges(&right)), shared);
            let before = left.iter().take(end as usize).filter(|page| **page).count() as u64;
            prop_assert_eq!(cut(ranges(&left), end).iter().map(|range| range.count).sum::<u64>(), before);
        }
    }
}
