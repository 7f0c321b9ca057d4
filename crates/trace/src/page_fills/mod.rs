//! Which pages enter the page cache, and when: the tracepoint `filemap:mm_filemap_add_to_page_cache`.
//!
//! The kernel identifies a page by (device, inode, offset), so no mapping has to be tracked and reads by any process count. Not
//! obvious: newly written pages enter the page cache the same way, and the event does
//! not distinguish them from pages that are read. Source: `mm/filemap.c`.

pub(crate) mod instance;
pub(crate) mod line;

use std::time::Duration;

use crate::TraceError;
use instance::Instance;
use line::Line;

/// The tracepoint, and its directory in tracefs.
pub(crate) const FILL: (&str, &str) = ("mm_filemap_add_to_page_cache", "filemap/mm_filemap_add_to_page_cache");

/// Pages entering the page cache at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFill {
    /// `s_dev` of the file system, as `major << 20 | minor`; of a block device's own pages, its pseudo file system's.
    pub device: u64,
    /// Inode number; of a block device's own pages its device number, as `major << 20 | minor`.
    pub inode: u64,
    /// First page of the folio.
    pub page: u64,
    /// Number of pages in the folio.
    pub pages: u64,
    /// `CLOCK_MONOTONIC`.
    pub at: Duration,
    /// The requesting thread, in the initial PID namespace.
    pub thread: u32,
}

impl PageFill {
    /// Parses an event; other events give `None`.
    pub(crate) fn parse(line: &Line<'_>) -> Option<Self> {
        if line.name != FILL.0 {
            return None;
        }
        let (device, inode) = line.file()?;
        // Older kernels print no order: each event is one page.
        let order = u32::try_from(line.number("order").unwrap_or(0)).ok()?;
        Some(Self {
            device,
            inode,
            page: line.number("ofs")? / coldstart_profile::PAGE_SIZE,
            pages: 1u64.checked_shl(order)?,
            at: line.at,
            thread: line.thread,
        })
    }
}

/// A running recording of page-cache fills, of the whole system.
#[derive(Debug)]
pub struct PageFillRecorder {
    instance: Instance,
}

impl PageFillRecorder {
    /// Starts recording.
    ///
    /// # Errors
    /// [`TraceError::PageFills`] without `CAP_SYS_ADMIN`, or where the kernel has no tracefs or no such tracepoint.
    pub fn start() -> Result<Self, TraceError> {
        let start = || {
            let instance = Instance::make()?;
            instance.enable(FILL.1)?;
            Ok(Self { instance })
        };
        start().map_err(|source| TraceError::PageFills { source })
    }

    /// Stops, and returns the fills by time, and how many events did not fit the buffer.
    ///
    /// # Errors
    /// Fails when tracefs cannot be read.
    pub fn finish(self) -> Result<(Vec<PageFill>, u64), TraceError> {
        let read = || {
            self.instance.stop()?;
            let mut fills = Vec::new();
            self.instance.read(&mut |line| fills.extend(PageFill::parse(line)))?;
            fills.sort_by_key(|fill| fill.at);
            Ok((fills, self.instance.lost()))
        };
        read().map_err(|source| TraceError::PageFills { source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_trace_are_read() {
        let text = "    soffice.bin-4711 [001] ...1.  812.000031: mm_filemap_add_to_page_cache: dev 7:0 ino 5c1 pfn=0x1f ofs=8192 order=2";
        let parse = |text: &str| Line::parse(text).and_then(|line| PageFill::parse(&line));
        let fill = PageFill {
            device: 7 << 20,
            inode: 0x5c1,
            page: 2,
            pages: 4,
            at: Duration::from_micros(812_000_031),
            thread: 4711,
        };
        assert_eq!(parse(text), Some(fill));
        let of_an_old_kernel = text.strip_suffix(" order=2").unwrap();
        assert_eq!(parse(of_an_old_kernel).map(|fill| fill.pages), Some(1));
        assert_eq!(parse(&text.replace("5c1", "zz")), None);
        assert_eq!(parse(&text.replace("mm_filemap_add_to_page_cache", "mm_filemap_fault")), None);
    }
}
