//! The kernel's page cache and readahead for one file that is mapped, starting from nothing.
//!
//! A touch of a page that is not cached reads a window around it and marks a page in the window's last quarter; a touch
//! of a marked page reads the next window in advance. (Linux `mm/filemap.c`, `do_sync_mmap_readahead` and
//! `do_async_mmap_readahead`; `mm/readahead.c`, `page_cache_async_ra`, `page_cache_sync_ra`.) Faults that find many pages
//! missing, and few there, switch readahead off (`MMAP_LOTSAMISS`).

use std::ops::RangeInclusive;

/// Misses, less hits, after which only single pages are read.
const LOTS_OF_MISSES: u64 = 100;

/// What was read and touched so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) seeks: u64,
    pub(super) read_pages: u64,
    pub(super) touched_pages: u64,
}

/// A file on disk with some of its pages cached.
pub(super) struct Disk {
    pages: u64,
    window: u64,
    cached: PageSet,
    marked: PageSet,
    touched: PageSet,
    /// The last window: `file_ra_state` of the kernel.
    start: u64,
    size: u64,
    ahead: u64,
    misses: u64,
    /// End of the last request.
    position: Option<u64>,
    counts: Counts,
    last_touched: Option<u64>,
    step: Option<(u64, u64)>,
}

impl Disk {
    /// A file of `pages` pages, for which the kernel reads up to `window` pages at once.
    pub(super) fn new(pages: u64, window: u64) -> Self {
        Self {
            pages,
            window,
            cached: PageSet::new(pages),
            marked: PageSet::new(pages),
            touched: PageSet::new(pages),
            start: 0,
            size: 0,
            ahead: 0,
            misses: 0,
            position: None,
            counts: Counts::default(),
            last_touched: None,
            step: None,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Starts a new step: clears the touched pages of the previous one.
    pub(super) fn begin_step(&mut self) -> Counts {
        self.last_touched = None;
        self.step = None;
        self.counts
    }

    /// The lowest and the highest page touched in this step.
    pub(super) fn touched_in_step(&self) -> Option<RangeInclusive<u64>> {
        self.step.map(|(first, last)| first..=last)
    }

    /// Reads less than a page at the beginning of the file with `read(2)`, before it is mapped.
    pub(super) fn read_start(&mut self) {
        self.note(0);
        if self.cached.contains(0) || !self.touched.insert(0) {
            return;
        }
        self.counts.touched_pages = self.counts.touched_pages.saturating_add(1);
        let size = initial_window(self.window);
        (self.start, self.size, self.ahead) = (0, size, size.saturating_sub(1));
        self.submit();
    }

    /// Touches a page of the mapped file. Pages past its end are ignored.
    #[inline]
    pub(super) fn touch(&mut self, page: u64) {
        if self.last_touched != Some(page) {
            self.last_touched = Some(page);
            self.first_touch(page);
        }
    }

    fn first_touch(&mut self, page: u64) {
        if page >= self.pages {
            return;
        }
        self.note(page);
        // A page touched before is in the page table: the kernel does not see the next touch.
        if !self.touched.insert(page) {
            return;
        }
        self.counts.touched_pages = self.counts.touched_pages.saturating_add(1);
        if !self.cached.contains(page) {
            self.miss(page);
        } else {
            self.misses = self.misses.saturating_sub(1);
            if self.marked.remove(page) {
                self.read_ahead(page);
            }
        }
    }

    fn note(&mut self, page: u64) {
        let (first, last) = self.step.unwrap_or((page, page));
        self.step = Some((first.min(page), last.max(page)));
    }

    fn miss(&mut self, page: u64) {
        self.misses = self.misses.saturating_add(1).min(LOTS_OF_MISSES.saturating_mul(10));
        if self.window == 0 || self.misses > LOTS_OF_MISSES {
            self.request(page, page.saturating_add(1));
            return;
        }
        self.start = page.saturating_sub(self.window / 2);
        self.size = self.window;
        self.ahead = self.window / 4;
        self.submit();
    }

    fn read_ahead(&mut self, page: u64) {
        if page == self.start.saturating_add(self.size).saturating_sub(self.ahead) {
            self.start = self.start.saturating_add(self.size);
            self.size = next_window(self.size, self.window);
        } else {
            // The mark belongs to a window before the last one.
            let behind = page.saturating_add(1);
            let Some(missing) = (behind..behind.saturating_add(self.window)).find(|page| !self.cached.contains(*page))
            else {
                return;
            };
            self.start = missing;
            self.size = self.window;
        }
        self.ahead = self.size;
        self.submit();
    }

    /// Reads the missing pages of the window, and marks the page that triggers the next one.
    fn submit(&mut self) {
        let end = self.start.saturating_add(self.size).min(self.pages);
        let mark = end.checked_sub(self.ahead).filter(|mark| *mark >= self.start && *mark < end);
        if let Some(mark) = mark.filter(|mark| !self.cached.contains(*mark)) {
            self.marked.insert(mark);
        }
        let mut page = self.start;
        while page < end {
            if self.cached.contains(page) {
                page = page.saturating_add(1);
                continue;
            }
            let run_end = (page..end).find(|page| self.cached.contains(*page)).unwrap_or(end);
            self.request(page, run_end);
            page = run_end;
        }
    }

    fn request(&mut self, start: u64, end: u64) {
        (start..end).for_each(|page| {
            self.cached.insert(page);
        });
        self.counts.requests = self.counts.requests.saturating_add(1);
        if self.position != Some(start) {
            self.counts.seeks = self.counts.seeks.saturating_add(1);
        }
        self.position = Some(end);
        self.counts.read_pages = self.counts.read_pages.saturating_add(end.saturating_sub(start));
    }
}

/// The first window for a sequential read of one page (`get_init_ra_size`).
fn initial_window(largest: u64) -> u64 {
    if largest >= 32 {
        4
    } else if largest >= 4 {
        2
    } else {
        largest.max(1)
    }
}

/// The window after one of `size` pages (`get_next_ra_size`).
fn next_window(size: u64, largest: u64) -> u64 {
    if size < largest / 16 {
        size.saturating_mul(4)
    } else if size <= largest / 2 {
        size.saturating_mul(2)
    } else {
        largest
    }
}

/// A set of pages of a file: a bit for each.
struct PageSet {
    bits: Vec<u64>,
}

impl PageSet {
    /// An empty set for a file of `pages` pages, which are in memory already, so that this takes 1/32768 of them.
    fn new(pages: u64) -> Self {
        Self { bits: vec![0; usize::try_from(pages.div_ceil(64)).unwrap_or(0)] }
    }

    fn place(page: u64) -> (usize, u64) {
        ((page / 64) as usize, 1 << (page % 64))
    }

    fn contains(&self, page: u64) -> bool {
        let (index, bit) = Self::place(page);
        self.bits.get(index).is_some_and(|bits| bits & bit != 0)
    }

    /// Inserts a page; true if it is new.
    fn insert(&mut self, page: u64) -> bool {
        let (index, bit) = Self::place(page);
        let Some(bits) = self.bits.get_mut(index) else { return false };
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Whether it was there.
    fn remove(&mut self, page: u64) -> bool {
        let (index, bit) = Self::place(page);
        let Some(bits) = self.bits.get_mut(index) else { return false };
        let was_there = *bits & bit != 0;
        *bits &= !bit;
        was_there
    }
}

#[cfg(test)]
#[path = "readahead_tests.rs"]
mod tests;
