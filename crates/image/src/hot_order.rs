//! One order of hot pages for several starts.
//!
//! The rule, in three steps:
//!
//! 1. **Starts of one program** are merged by earliest need: a page's *due position* is its smallest rank of first touch in any of the
//!    starts, and pages are in the order of their due positions (ties: mean rank, then the starts' order). This order makes the largest
//!    lateness of any page in any start as small as it can be (Jackson's rule, 1955). A page that only some starts need is early if they
//!    need it early: one early page at the tail stops a start, one page too many in front costs its 4 KiB.
//! 2. **Programs** get areas: first the pages that all programs use, by their mean rank; then those that fewer share; then each program's
//!    own. So a program reads the shared areas and its own, and passes no pages of others.
//! 3. **Windows of 32 pages** (128 KiB, the smallest request that a disk gets from readahead) within an area are sorted by file and page: the
//!    order within a request costs nothing, and runs of a file's pages take fewer table entries and fewer requests of the page cache.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_profile::{FileKind, PageRange, WorkingSet};

/// Pages within a window may change places.
pub const WINDOW: usize = 32;
/// Programs of one image: bits of [`HotRun::programs`].
pub const MOST_PROGRAMS: usize = 64;

/// Pages of one start in the order of first touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstTouches {
    /// Starts with the same text are starts of one program.
    pub program: OsString,
    /// Files by their absolute path, and pages of them.
    pub pages: Vec<(PathBuf, PageRange)>,
}

impl FirstTouches {
    /// The pages of a recorded working set, all files together in the order of time. Files that the start itself wrote are left out:
    /// an image cannot be written to.
    pub fn of_working_set(program: OsString, set: &WorkingSet) -> Self {
        let files = set.files.iter().filter(|file| file.kind == FileKind::Regular);
        let mut touches: Vec<_> =
            files.flat_map(|file| file.touched.iter().map(|touched| (touched.at, &file.path, touched.range))).collect();
        // Stable: what was touched at one moment stays in the order of the files' first use.
        touches.sort_by_key(|(at, _, _)| *at);
        Self { program, pages: touches.into_iter().map(|(_, path, range)| (path.clone(), range)).collect() }
    }
}

/// Hot pages in the order in which they are to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotOrder {
    /// Programs that the order was made for; the bits of [`HotRun::programs`] count them.
    pub programs: Vec<OsString>,
    /// For each program a prefetch plan of what its starts read outside the image; empty or missing where nothing is known.
    pub outside: Vec<Vec<u8>>,
    /// Runs of pages. No page is in two of them.
    pub runs: Vec<HotRun>,
}

/// Consecutive pages of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotRun {
    /// The file, as the start named it.
    pub path: Arc<Path>,
    /// Its pages.
    pub pages: PageRange,
    /// Which programs use them: bit 0 is the first.
    pub programs: u64,
}

/// What is known of one page.
struct Page {
    file: u32,
    page: u64,
    programs: u64,
    /// Sum of the ranks in the programs that use it, and their number.
    ranks: u64,
    count: u32,
}

impl Page {
    /// Compares by mean rank, without rounding.
    fn mean_cmp(&self, other: &Self) -> std::cmp::Ordering {
        let scaled = |page: &Self, by: &Self| u128::from(page.ranks) * u128::from(by.count);
        scaled(self, other).cmp(&scaled(other, self))
    }
}

/// One order for all starts, as the module says. Memory: about 100 bytes for each page. `None` for more programs than
/// [`MOST_PROGRAMS`].
pub fn hot_order(starts: &[FirstTouches]) -> Option<HotOrder> {
    let mut programs: Vec<&OsString> = Vec::new();
    for start in starts {
        if !programs.contains(&&start.program) {
            programs.push(&start.program);
        }
    }
    if programs.len() > MOST_PROGRAMS {
        return None;
    }
    let mut files: HashMap<&Path, u32> = HashMap::new();
    let mut paths: Vec<&Path> = Vec::new();
    let mut pages: Vec<Page> = Vec::new();
    let mut known: HashMap<(u32, u64), usize> = HashMap::new();
    for (bit, program) in programs.iter().enumerate() {
        let of_it: Vec<&FirstTouches> = starts.iter().filter(|start| start.program == **program).collect();
        for (rank, key) in (0u64..).zip(order_of_program(&of_it, &mut files, &mut paths)) {
            let index = *known.entry(key).or_insert_with(|| {
                pages.push(Page { file: key.0, page: key.1, programs: 0, ranks: 0, count: 0 });
                pages.len() - 1
            });
            if let Some(page) = pages.get_mut(index) {
                page.programs |= 1 << bit;
                page.ranks += rank;
                page.count += 1;
            }
        }
    }
    // Stable: ties stay in the order of the first program that has them.
    pages.sort_by(|one, other| {
        // Most sharers first, then the area of the earlier programs.
        let area = |page: &Page| (page.programs.count_ones(), page.programs.reverse_bits());
        area(other).cmp(&area(one)).then_with(|| one.mean_cmp(other))
    });
    sort_windows(&mut pages);
    let shared: Vec<Arc<Path>> = paths.iter().map(|path| Arc::from(*path)).collect();
    Some(HotOrder {
        programs: programs.into_iter().cloned().collect(),
        runs: runs(&pages, &shared),
        ..HotOrder::default()
    })
}

/// The pages of one program's starts by earliest need.
fn order_of_program<'start>(
    starts: &[&'start FirstTouches],
    files: &mut HashMap<&'start Path, u32>,
    paths: &mut Vec<&'start Path>,
) -> Vec<(u32, u64)> {
    struct Need {
        key: (u32, u64),
        due: u64,
        ranks: u64,
        count: u32,
        last_start: usize,
    }
    let mut needs: Vec<Need> = Vec::new();
    let mut known: HashMap<(u32, u64), usize> = HashMap::new();
    for (number, start) in starts.iter().enumerate() {
        let mut rank = 0u64;
        for (path, range) in &start.pages {
            let file = *files.entry(path).or_insert_with(|| {
                paths.push(path);
                (paths.len() - 1) as u32
            });
            for page in range.start.0..range.end().0 {
                let index = *known.entry((file, page)).or_insert_with(|| {
                    needs.push(Need { key: (file, page), due: u64::MAX, ranks: 0, count: 0, last_start: usize::MAX });
                    needs.len() - 1
                });
                let Some(need) = needs.get_mut(index).filter(|need| need.last_start != number) else { continue };
                need.due = need.due.min(rank);
                need.ranks += rank;
                need.count += 1;
                need.last_start = number;
                rank += 1;
            }
        }
    }
    needs.sort_by(|one, other| {
        let mean = |a: &Need, b: &Need| u128::from(a.ranks) * u128::from(b.count);
        one.due.cmp(&other.due).then_with(|| mean(one, other).cmp(&mean(other, one)))
    });
    needs.into_iter().map(|need| need.key).collect()
}

/// Sorts windows within each area by file, in the order of the files' appearance in the window, and page.
fn sort_windows(pages: &mut [Page]) {
    for area in pages.chunk_by_mut(|one, other| one.programs == other.programs) {
        for window in area.chunks_mut(WINDOW) {
            let mut first: HashMap<u32, usize> = HashMap::new();
            for (index, page) in window.iter().enumerate() {
                first.entry(page.file).or_insert(index);
            }
            window.sort_by_key(|page| (first.get(&page.file).copied(), page.page));
        }
    }
}

fn runs(pages: &[Page], paths: &[Arc<Path>]) -> Vec<HotRun> {
    let continues = |one: &Page, other: &Page| {
        one.programs == other.programs && one.file == other.file && one.page.checked_add(1) == Some(other.page)
    };
    let run = |run: &[Page]| {
        let first = run.first()?;
        let path = paths.get(first.file as usize)?;
        Some(HotRun {
            path: Arc::clone(path),
            pages: PageRange::new(first.page, run.len() as u64)?,
            programs: first.programs,
        })
    };
    pages.chunk_by(continues).filter_map(run).collect()
}

#[cfg(test)]
mod tests;
