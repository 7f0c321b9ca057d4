//! The cached pages of a file whose residency is hidden from this user.
//!
//! `cachestat` and `mincore` work only for users who own a file or may write it. Users who may read it have another way: a
//! non-blocking read (`RWF_NOWAIT`) succeeds exactly where the page is cached (`filemap_get_pages` in
//! `mm/filemap.c`). The drawback: a query for an uncached page starts to read it, so this is only for the end of
//! a recording; and a fast disk may have read one by the time of the query, so that it counts.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use coldstart_profile::{PAGE_SIZE, PageRange, page_count};
use rustix::fs::Advice;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Files with more pages (4 GiB) are skipped: a system call a page would take seconds.
const MOST_PAGES: u64 = 1 << 20;

/// Cached pages of an open file of `size` bytes; `None` where the file system cannot tell, or for a very large file.
pub(crate) fn cached_by_reading(file: &OwnedFd, size: u64) -> Option<Vec<PageRange>> {
    let pages = page_count(size);
    if pages > MOST_PAGES {
        return None;
    }
    // Otherwise a miss would read the neighbours too, and they would then count as cached.
    rustix::fs::fadvise(file, 0, None, Advice::Random).ok()?;
    let mut ranges: Vec<PageRange> = Vec::new();
    for page in 0..pages {
        let mut byte = [0u8];
        match preadv2(file, &mut [IoSliceMut::new(&mut byte)], page * PAGE_SIZE, ReadWriteFlags::NOWAIT) {
            Ok(_) => match ranges.last_mut() {
                Some(last) if last.end().0 == page => last.count += 1,
                _ => ranges.extend(PageRange::new(page, 1)),
            },
            Err(Errno::AGAIN | Errno::INTR) => {}
            // EOPNOTSUPP: the file system does not support non-blocking reads.
            Err(_) => return None,
        }
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn agrees_with_the_kernel_s_own_answer() {
        let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
        let mut file = tempfile::tempfile_in(target).unwrap();
        file.write_all(&vec![7; 100 * 4096]).unwrap();
        file.sync_all().unwrap();
        let descriptor = OwnedFd::from(file);
        rustix::fs::fadvise(&descriptor, 0, None, Advice::DontNeed).unwrap();
        rustix::fs::fadvise(&descriptor, 0, None, Advice::Random).unwrap();
        for page in [0, 1, 2, 50, 99] {
            rustix::io::pread(&descriptor, &mut [0u8], page * PAGE_SIZE).unwrap();
        }
        let told = coldstart_pagecache::pages(&descriptor).unwrap();
        assert!(told.iter().map(|range| range.count).sum::<u64>() < 100, "some pages are not cached: {told:?}");
        let pages = |ranges: &[PageRange]| -> Vec<u64> {
            ranges.iter().flat_map(|range| range.start.0..range.start.0 + range.count).collect()
        };
        let (told, found) = (pages(&told), pages(&cached_by_reading(&descriptor, 100 * 4096).unwrap()));
        // How many more are found is the disk's matter: it may read all of them between two calls.
        assert!(told.iter().all(|page| found.contains(page)), "{told:?}, found {found:?}");
    }
}
