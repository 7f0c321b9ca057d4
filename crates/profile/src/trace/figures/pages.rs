//! Pages of a file: touched, read, fetched from the disk, and fetched without use.

use std::ops::AddAssign;

use serde::Serialize;

use super::page_set::PageSet;
use crate::trace::{Event, EventKind, FileCategory, FillCause, Touch};
use crate::{PAGE_SIZE, PageRange};

/// Distinct pages of a file, or of all files; each counts once, by whatever process and however often. In pages of
/// [`PAGE_SIZE`] bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageCounts {
    /// Used through a mapping.
    pub touched: u64,
    /// Of these, written to.
    pub written: u64,
    /// Of these, with instructions that were fetched.
    pub executed: u64,
    /// Read through `read(2)` or one of its kin.
    pub read: u64,
    /// Touched or read.
    pub used: u64,
    /// Zero-filled memory after the file (`.bss`); not part of `touched`.
    pub zero_filled: u64,
    /// Came from the disk during the start.
    pub filled: u64,
    /// Fills by their causes; a page that came twice counts twice.
    pub fills: Fills,
    /// Came from the disk for the program and was neither touched nor read. Only as true as the touches are complete:
    /// without each page's first touch, used pages count as wasted. Metadata is left out, which nobody touches.
    pub wasted: u64,
}

impl PageCounts {
    /// A number of pages in bytes.
    pub fn bytes(pages: u64) -> u64 {
        pages.saturating_mul(PAGE_SIZE)
    }
}

impl AddAssign for PageCounts {
    fn add_assign(&mut self, other: Self) {
        let pairs = [
            (&mut self.touched, other.touched),
            (&mut self.written, other.written),
            (&mut self.executed, other.executed),
            (&mut self.read, other.read),
            (&mut self.used, other.used),
            (&mut self.zero_filled, other.zero_filled),
            (&mut self.filled, other.filled),
            (&mut self.wasted, other.wasted),
        ];
        for (mine, other) in pairs {
            *mine = mine.saturating_add(other);
        }
        self.fills += other.fills;
    }
}

/// Pages that came from the disk, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fills {
    /// Somebody waited for them.
    pub demand: u64,
    /// Read ahead of a sequential reader.
    pub readahead: u64,
    /// By a process that is not of the program.
    pub other: u64,
    /// It is not known why.
    pub unknown: u64,
}

impl Fills {
    /// All of them.
    pub fn total(&self) -> u64 {
        [self.readahead, self.other, self.unknown].into_iter().fold(self.demand, u64::saturating_add)
    }

    fn of(cause: FillCause, pages: u64) -> Self {
        let mut fills = Self::default();
        match cause {
            FillCause::Demand => fills.demand = pages,
            FillCause::Readahead => fills.readahead = pages,
            FillCause::Other => fills.other = pages,
            FillCause::Unknown => fills.unknown = pages,
        }
        fills
    }
}

impl AddAssign for Fills {
    fn add_assign(&mut self, other: Self) {
        self.demand = self.demand.saturating_add(other.demand);
        self.readahead = self.readahead.saturating_add(other.readahead);
        self.other = self.other.saturating_add(other.other);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

/// Collects what happens to the pages of one file.
#[derive(Debug, Default)]
pub(super) struct PageUse {
    touched: Vec<PageRange>,
    written: Vec<PageRange>,
    executed: Vec<PageRange>,
    read: Vec<PageRange>,
    filled: Vec<PageRange>,
    filled_for_others: Vec<PageRange>,
    zeros_touched: Vec<PageRange>,
    zeros_written: Vec<PageRange>,
    fills: Fills,
}

/// The same, sorted.
#[derive(Debug, Default)]
pub(super) struct UsedPages {
    pub(super) touched: PageSet,
    pub(super) written: PageSet,
    pub(super) executed: PageSet,
    /// Written to or executed: all other touched pages were only read.
    pub(super) more_than_read: PageSet,
    /// Named by address, without load bias.
    pub(super) zeros_touched: PageSet,
    /// Named by address, without load bias.
    pub(super) zeros_written: PageSet,
}

impl PageUse {
    pub(super) fn add(&mut self, event: &Event) {
        let Some(range) = PageRange::new(event.page, u64::from(event.pages)) else { return };
        match event.kind {
            EventKind::Touch(touch) => self.touch(range, touch),
            EventKind::Read => self.read.push(range),
            EventKind::Fill(cause) => {
                let list = if cause == FillCause::Other { &mut self.filled_for_others } else { &mut self.filled };
                list.push(range);
                self.fills += Fills::of(cause, range.count);
            }
            EventKind::Function => {}
        }
    }

    fn touch(&mut self, range: PageRange, touch: Touch) {
        let written = touch.write == Some(true);
        if touch.zero_filled {
            self.zeros_touched.push(range);
            if written {
                self.zeros_written.push(range);
            }
            return;
        }
        self.touched.push(range);
        if written {
            self.written.push(range);
        }
        if touch.execute {
            self.executed.push(range);
        }
    }

    pub(super) fn finish(self, category: Option<FileCategory>) -> (PageCounts, UsedPages) {
        let (touched, read) = (PageSet::new(self.touched), PageSet::new(self.read));
        let (written, executed) = (PageSet::new(self.written), PageSet::new(self.executed));
        let zeros_touched = PageSet::new(self.zeros_touched);
        let for_us = PageSet::new(self.filled);
        let used = touched.with(&read);
        let counts = PageCounts {
            touched: touched.count(),
            written: written.count(),
            executed: executed.count(),
            read: read.count(),
            used: used.count(),
            zero_filled: zeros_touched.count(),
            filled: for_us.with(&PageSet::new(self.filled_for_others)).count(),
            fills: self.fills,
            wasted: if category == Some(FileCategory::Metadata) { 0 } else { for_us.count_without(&used) },
        };
        let more_than_read = written.with(&executed);
        let zeros_written = PageSet::new(self.zeros_written);
        (counts, UsedPages { touched, written, executed, more_than_read, zeros_touched, zeros_written })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{event, touch};
    use super::*;

    #[test]
    fn pages_count_once_and_fills_each_time() {
        let mut pages = PageUse::default();
        let wrote = Touch { write: Some(true), ..Touch::default() };
        for event in [
            touch(0, 5),
            touch(1, 5),
            event(2, 6, EventKind::Touch(wrote)),
            Event { pages: 4, ..event(3, 6, EventKind::Read) },
            Event { pages: 8, ..event(4, 4, EventKind::Fill(FillCause::Readahead)) },
            event(5, 4, EventKind::Fill(FillCause::Demand)),
            event(6, 99, EventKind::Fill(FillCause::Other)),
            event(7, 70, EventKind::Touch(Touch { zero_filled: true, ..wrote })),
        ] {
            pages.add(&event);
        }
        let (counts, _) = pages.finish(Some(FileCategory::System));
        assert_eq!((counts.touched, counts.written, counts.read, counts.used), (2, 1, 4, 5));
        assert_eq!((counts.filled, counts.fills.total(), counts.fills.readahead), (9, 10, 8));
        // Pages 4, 10 and 11; the one that another program read is none of ours.
        assert_eq!((counts.wasted, counts.zero_filled), (3, 1));
    }

    #[test]
    fn metadata_is_not_wasted() {
        let mut pages = PageUse::default();
        pages.add(&event(0, 3, EventKind::Fill(FillCause::Unknown)));
        assert_eq!(pages.finish(Some(FileCategory::Metadata)).0.wasted, 0);
    }
}
