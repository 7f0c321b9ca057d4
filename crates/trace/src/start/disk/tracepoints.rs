//! The tracepoints of the program's own threads, and their fields.
//!
//! Not obvious is their order: `mm_filemap_fault` and the `readahead` ones come *before* the pages they bring in,
//! `mm_filemap_get_pages` comes *after* them, when the pages of the read are at hand.
//! Sources: `mm/filemap.c`, `mm/readahead.c`, `include/trace/events/filemap.h`, `include/trace/events/readahead.h`.

use std::time::Duration;

use coldstart_profile::PAGE_SIZE;

use super::log::FileKey;
use crate::page_fills::PageFill;
use crate::page_fills::line::Line;

/// Buffered reads: their ranges (Linux 6.10).
pub(super) const READS: &str = "filemap/mm_filemap_get_pages";
/// Faults on unmapped file pages (Linux 6.10).
pub(super) const FAULTS: &str = "filemap/mm_filemap_fault";
/// What the kernel reads at once, and whether a thread waits (Linux 6.18).
pub(super) const READAHEAD: [&str; 4] = [
    "readahead/page_cache_sync_ra",
    "readahead/page_cache_async_ra",
    "readahead/page_cache_ra_order",
    "readahead/page_cache_ra_unbounded",
];

/// Something a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// `CLOCK_MONOTONIC`.
    pub(super) at: Duration,
    /// Who.
    pub(super) thread: u32,
    /// To which file.
    pub(super) file: FileKey,
    /// What.
    pub(super) what: What,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A page was not mapped when it was used.
    Fault {
        /// The page.
        page: u64,
    },
    /// A page is missing, and a reader waits for it.
    Missing,
    /// A reader comes near the end of what was read ahead.
    ComesNear,
    /// The kernel reads these, as far as they are missing.
    Window {
        /// First page.
        page: u64,
        /// How many.
        pages: u64,
    },
    /// Pages enter the page cache.
    Fill {
        /// First page.
        page: u64,
        /// How many.
        pages: u64,
    },
    /// Pages of a read are at hand.
    Read {
        /// First page.
        page: u64,
        /// How many.
        pages: u64,
    },
}

impl Step {
    /// Reads an event; other events give `None`.
    pub(crate) fn parse(line: &Line<'_>) -> Option<Self> {
        let (device, inode) = line.file()?;
        let what = match line.name {
            "mm_filemap_fault" => What::Fault { page: line.number("ofs")? / PAGE_SIZE },
            "page_cache_sync_ra" => What::Missing,
            "page_cache_async_ra" => What::ComesNear,
            "page_cache_ra_order" => What::Window { page: line.number("index")?, pages: line.number("size")? },
            "page_cache_ra_unbounded" => {
                What::Window { page: line.number("index")?, pages: line.number("nr_to_read")? }
            }
            "mm_filemap_get_pages" => {
                let (first, last) = line.bytes()?;
                let (page, last) = (first / PAGE_SIZE, last / PAGE_SIZE);
                What::Read { page, pages: last.checked_sub(page)?.checked_add(1)? }
            }
            _ => {
                let fill = PageFill::parse(line)?;
                What::Fill { page: fill.page, pages: fill.pages }
            }
        };
        Some(Self { at: line.at, thread: line.thread, file: FileKey { device, inode }, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tracepoint_is_understood() {
        let step = |rest: &str| {
            let text = format!("     t-17741   [001] ..... 47140.765654: {rest}");
            Line::parse(&text).and_then(|line| Step::parse(&line))
        };
        let file = "dev=254:0 ino=9ac009";
        let readahead = "size=4 async_size=3 ra_pages=2048";
        for (rest, what) in [
            (format!("mm_filemap_fault: {file} ofs=8192"), What::Fault { page: 2 }),
            (format!("page_cache_sync_ra: {file} index=0 req_count=1 order=0 {readahead}"), What::Missing),
            (format!("page_cache_async_ra: {file} index=0 req_count=1 order=0 {readahead}"), What::ComesNear),
            (format!("page_cache_ra_order: {file} index=7 order=0 {readahead}"), What::Window { page: 7, pages: 4 }),
            (
                format!("page_cache_ra_unbounded: {file} index=100 nr_to_read=3 lookahead_size=0"),
                What::Window { page: 100, pages: 3 },
            ),
            (format!("mm_filemap_get_pages: {file} ofs=4096-12287"), What::Read { page: 1, pages: 2 }),
            (
                "mm_filemap_add_to_page_cache: dev 254:0 ino 9ac009 pfn=0x1 ofs=4096 order=3".to_owned(),
                What::Fill { page: 1, pages: 8 },
            ),
        ] {
            let step = step(&rest).unwrap();
            assert_eq!((step.what, step.thread, step.file.device, step.file.inode), (what, 17741, 254 << 20, 0x9ac009));
        }
        assert_eq!(step(&format!("mm_filemap_get_pages: {file} ofs=8192-1")), None, "an end before its beginning");
        assert_eq!(step(&format!("file_check_and_advance_wb_err: {file} ofs=1")), None);
    }
}
