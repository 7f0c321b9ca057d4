//! Why each page came from the disk, by the order of its thread's events.
//!
//! A thread's events announce the cause: it faults, or misses a page, or approaches the end of the readahead window; then the kernel
//! reports the pages to be read, and then the pages enter the page cache. Not obvious: pages that enter without
//! any announcement were written, not read, except those of a block device, whose metadata is read page by page (`__getblk`).

use std::collections::HashMap;
use std::time::Duration;

use coldstart_profile::trace::FillCause;

use super::log::{DiskFill, DiskLog, DiskRead, FileKey};
use super::tracepoints::{Step, What};
use crate::PageFill;

/// Pages of the largest folio (2 MiB): the kernel moves a window by as much, to align it to its folios.
const LARGEST_FOLIO: u64 = 512;
/// Pages of one request enter the page cache microseconds apart.
const AT_ONCE: Duration = Duration::from_micros(100);

/// Turns what the program's threads did (`own`, in order) and what entered the page cache for anyone (`all`) into fills and reads.
/// `causes_are_told` says whether the kernel has the `readahead` tracepoints, `is_block_device` whether pages are a block device's own.
pub(super) fn explain(
    own: &[Step],
    all: &[PageFill],
    causes_are_told: bool,
    is_block_device: &dyn Fn(FileKey) -> bool,
) -> DiskLog {
    let mut log = DiskLog::default();
    let mut threads: HashMap<u32, Thread> = HashMap::new();
    let mut counted: HashMap<(u32, FileKey, u64), u32> = HashMap::new();
    for step in own {
        let thread = threads.entry(step.thread).or_default();
        match step.what {
            What::Fault { page } => thread.announced = Some((step.file, Announced::Fault(page))),
            What::Missing => thread.announced = Some((step.file, Announced::Missing)),
            What::ComesNear => thread.announced = Some((step.file, Announced::ComesNear)),
            What::Window { page, pages } => thread.open_window(step.file, page, pages),
            What::Read { page, pages } => {
                (thread.announced, thread.window) = (None, None);
                if thread.is_new_read(step.file, page, pages) {
                    log.reads.push(DiskRead { at: step.at, thread: step.thread, file: step.file, page, pages });
                }
            }
            What::Fill { page, pages } => {
                let count = counted.entry((step.thread, step.file, page)).or_default();
                *count = count.saturating_add(1);
                let fill = |cause| DiskFill { at: step.at, thread: step.thread, file: step.file, page, pages, cause };
                if !causes_are_told {
                    thread.add_near(&mut log.fills, fill(FillCause::Unknown));
                } else if let Some(cause) = thread.cause_in_window(step.file, page, pages) {
                    thread.add(&mut log.fills, fill(cause), true);
                } else if thread.waits_for(step.file, page, pages) || is_block_device(step.file) {
                    thread.add(&mut log.fills, fill(FillCause::Demand), false);
                } else {
                    log.written_pages = log.written_pages.saturating_add(pages);
                }
            }
        }
    }
    add_others(&mut log.fills, all, &threads, counted);
    log.fills.sort_by_key(|fill| fill.at);
    log
}

/// Adds those of `all` that are not counted yet. One by a thread of the program is there when the program's own buffer was full.
fn add_others(
    fills: &mut Vec<DiskFill>,
    all: &[PageFill],
    threads: &HashMap<u32, Thread>,
    mut counted: HashMap<(u32, FileKey, u64), u32>,
) {
    let mut strangers: HashMap<u32, Thread> = HashMap::new();
    for fill in all {
        let file = FileKey { device: fill.device, inode: fill.inode };
        if let Some(count) = counted.get_mut(&(fill.thread, file, fill.page))
            && *count > 0
        {
            *count -= 1;
            continue;
        }
        let cause = if threads.contains_key(&fill.thread) { FillCause::Unknown } else { FillCause::Other };
        let (at, thread, page, pages) = (fill.at, fill.thread, fill.page, fill.pages);
        strangers.entry(thread).or_default().add_near(fills, DiskFill { at, thread, file, page, pages, cause });
    }
}

/// The state of a thread.
#[derive(Debug, Default)]
struct Thread {
    announced: Option<(FileKey, Announced)>,
    window: Option<Window>,
    /// Index of its last fill in the list: the next may continue it.
    last_fill: Option<usize>,
    last_fill_at: Option<Duration>,
    last_read: Option<(FileKey, u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    Fault(u64),
    Missing,
    ComesNear,
}

/// The pages that the kernel is about to read.
#[derive(Clone, Copy, Debug)]
struct Window {
    file: FileKey,
    from: u64,
    to: u64,
    cause: FillCause,
}

impl Window {
    fn holds(&self, file: FileKey, page: u64, pages: u64) -> bool {
        self.file == file && page < self.to && page.saturating_add(pages) > self.from
    }
}

impl Thread {
    fn open_window(&mut self, file: FileKey, page: u64, pages: u64) {
        let mut window = Window {
            file,
            from: page.saturating_sub(LARGEST_FOLIO),
            to: page.saturating_add(pages).saturating_add(LARGEST_FOLIO),
            cause: FillCause::Demand,
        };
        window.cause = match self.announced {
            Some((announced, Announced::Missing)) if announced == file => FillCause::Demand,
            Some((announced, Announced::Fault(wanted)))
                if announced == file && (page..page.saturating_add(pages)).contains(&wanted) =>
            {
                FillCause::Demand
            }
            // The program itself asked for pages in advance (`MADV_WILLNEED`, `readahead(2)`), or comes near.
            _ => FillCause::Readahead,
        };
        // The same window is told twice where the kernel falls back from large folios to single pages.
        let same = |known: &Window| known.file == file && known.from <= window.from && known.to >= window.to;
        if !self.window.as_ref().is_some_and(same) {
            self.last_fill = None;
        }
        self.window = Some(window);
    }

    /// Why announced pages entered.
    fn cause_in_window(&self, file: FileKey, page: u64, pages: u64) -> Option<FillCause> {
        self.window.filter(|window| window.holds(file, page, pages)).map(|window| window.cause)
    }

    /// Whether pages entered because the thread wants them. Where readahead is off (`MADV_RANDOM`), they come alone.
    fn waits_for(&self, file: FileKey, page: u64, pages: u64) -> bool {
        match self.announced {
            Some((announced, Announced::Fault(wanted))) => {
                announced == file && (page..page.saturating_add(pages)).contains(&wanted)
            }
            Some((announced, _)) => announced == file,
            None => false,
        }
    }

    /// Adds a fill without known windows: simultaneous pages are one request.
    fn add_near(&mut self, fills: &mut Vec<DiskFill>, fill: DiskFill) {
        let near = self.last_fill_at.is_some_and(|last| fill.at.saturating_sub(last) <= AT_ONCE);
        self.add(fills, fill, near);
    }

    fn add(&mut self, fills: &mut Vec<DiskFill>, fill: DiskFill, may_continue: bool) {
        self.last_fill_at = Some(fill.at);
        match self.last_fill.filter(|_| may_continue).and_then(|last| fills.get_mut(last)) {
            Some(last)
                if last.file == fill.file
                    && last.cause == fill.cause
                    && last.page.checked_add(last.pages) == Some(fill.page) =>
            {
                last.pages = last.pages.saturating_add(fill.pages);
            }
            _ => {
                self.last_fill = Some(fills.len());
                fills.push(fill);
            }
        }
    }

    /// A read of many pages is told in several events, each up to the same end; small reads tell of the same page again and again.
    fn is_new_read(&mut self, file: FileKey, page: u64, pages: u64) -> bool {
        let end = page.saturating_add(pages);
        let within = |(known, from, to): &(FileKey, u64, u64)| *known == file && *from <= page && end <= *to;
        if self.last_read.as_ref().is_some_and(within) {
            return false;
        }
        self.last_read = Some((file, page, end));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileKey = FileKey { device: 254 << 20, inode: 7 };
    const DEVICE: FileKey = FileKey { device: 2, inode: 254 << 20 };

    /// What one thread does, a microsecond apart.
    fn steps(what: &[(FileKey, What)]) -> Vec<Step> {
        let step = |(at, &(file, what)): (usize, &(FileKey, What))| Step {
            at: Duration::from_micros(at as u64),
            thread: 9,
            file,
            what,
        };
        what.iter().enumerate().map(step).collect()
    }

    fn run(what: &[(FileKey, What)]) -> DiskLog {
        explain(&steps(what), &[], true, &|file| file == DEVICE)
    }

    fn fills(log: &DiskLog) -> Vec<(u64, u64, FillCause)> {
        log.fills.iter().map(|fill| (fill.page, fill.pages, fill.cause)).collect()
    }

    fn fill(page: u64, pages: u64) -> (FileKey, What) {
        (FILE, What::Fill { page, pages })
    }

    fn window(page: u64, pages: u64) -> (FileKey, What) {
        (FILE, What::Window { page, pages })
    }

    #[test]
    fn who_waits_demands_and_who_comes_near_reads_ahead() {
        let log = run(&[
            (FILE, What::Missing),
            window(0, 4),
            fill(0, 1),
            fill(1, 1),
            fill(2, 2),
            (FILE, What::Read { page: 0, pages: 1 }),
            (FILE, What::ComesNear),
            window(4, 8),
            fill(4, 4),
            fill(8, 4),
            (FILE, What::Read { page: 1, pages: 1 }),
        ]);
        assert_eq!(fills(&log), [(0, 4, FillCause::Demand), (4, 8, FillCause::Readahead)]);
        assert_eq!(log.reads.len(), 2);
    }

    #[test]
    fn a_fault_demands_its_window_and_advice_reads_ahead() {
        let log = run(&[
            (FILE, What::Fault { page: 5000 }),
            window(4990, 32),
            fill(4990, 32),
            window(9000, 16),
            fill(9000, 16),
        ]);
        assert_eq!(fills(&log), [(4990, 32, FillCause::Demand), (9000, 16, FillCause::Readahead)]);
    }

    #[test]
    fn without_readahead_a_fault_brings_its_page_alone() {
        let log = run(&[(FILE, What::Fault { page: 50 }), fill(50, 1), fill(70, 1)]);
        assert_eq!((fills(&log), log.written_pages), (vec![(50, 1, FillCause::Demand)], 1));
    }

    #[test]
    fn what_is_written_is_no_fill_but_metadata_is() {
        let metadata = (DEVICE, What::Fill { page: 3, pages: 1 });
        let log = run(&[fill(0, 2), metadata, (FILE, What::Read { page: 0, pages: 2 }), fill(2, 1)]);
        assert_eq!((fills(&log), log.written_pages), (vec![(3, 1, FillCause::Demand)], 3));
    }

    #[test]
    fn adjoining_windows_are_two_requests() {
        let log = run(&[(FILE, What::Missing), window(0, 2), fill(0, 2), window(2000, 2), fill(2000, 2)]);
        assert_eq!(log.fills.len(), 2);
        let told_twice = run(&[(FILE, What::Missing), window(0, 4), fill(0, 2), window(0, 4), fill(2, 2)]);
        assert_eq!(fills(&told_twice), [(0, 4, FillCause::Demand)]);
    }

    #[test]
    fn a_long_read_is_one_and_small_reads_of_a_page_are_one() {
        let read = |page, pages| (FILE, What::Read { page, pages });
        let log = run(&[read(0, 64), read(15, 49), read(30, 34), read(64, 1), read(64, 1), read(64, 1), read(0, 1)]);
        let reads: Vec<_> = log.reads.iter().map(|read| (read.page, read.pages)).collect();
        assert_eq!(reads, [(0, 64), (64, 1), (0, 1)]);
    }

    #[test]
    fn fills_of_strangers_and_lost_ones_are_told_apart() {
        let seen = |thread, page, at| PageFill {
            device: FILE.device,
            inode: FILE.inode,
            page,
            pages: 1,
            at: Duration::from_micros(at),
            thread,
        };
        // Page 1 was seen by both buffers, page 5 did not fit the program's own.
        let own = steps(&[(FILE, What::Missing), window(1, 1), fill(1, 1)]);
        let all = [seen(9, 1, 2), seen(9, 5, 3), seen(77, 20, 4), seen(77, 21, 5), seen(77, 22, 9000)];
        let log = explain(&own, &all, true, &|_| false);
        assert_eq!(
            fills(&log),
            [
                (1, 1, FillCause::Demand),
                (5, 1, FillCause::Unknown),
                (20, 2, FillCause::Other),
                (22, 1, FillCause::Other)
            ]
        );
    }

    #[test]
    fn a_kernel_that_tells_no_causes_is_not_guessed_for() {
        let log = explain(&steps(&[fill(0, 1), fill(1, 1)]), &[], false, &|_| false);
        assert_eq!(fills(&log), [(0, 2, FillCause::Unknown)]);
    }
}
