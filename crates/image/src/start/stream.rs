//! Reading the hot range from front to back, beside the program.
//!
//! First into the page cache of the image's file, in requests of 1 MiB, of which some are always under way. As pages arrive there, the files of the
//! mounted image get theirs from memory: a page fault then finds its page, and its neighbours with it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use coldstart_profile::PAGE_SIZE;
use coldstart_sys::cachestat::cachestat;
use coldstart_sys::image_mount::is_on_image;
use coldstart_sys::named_file::open_regular;
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::Front;

/// Bytes of one request, and how many requests are under way.
const REQUEST: u64 = 1 << 20;
const AHEAD: u64 = 8;
/// How long files may take to be covered after the last page was read, and how often they are looked at.
const LONGEST_COVERING: Duration = Duration::from_millis(500);
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Reads what the given programs need, until `cancelled` is true. The calling process must be in the program's mount namespace.
pub(super) fn stream(image: &File, front: &Front, programs: u64, cancelled: &dyn Fn() -> bool) {
    let requests = requests(front, programs);
    let mut files = Files::default();
    let mut runs = Runs::new(front, programs);
    let ask = |request: &(u64, u64)| {
        let _ = fadvise(image, request.0, NonZeroU64::new(request.1 - request.0), Advice::WillNeed);
    };
    // The kernel's own read-ahead for this file would only double ours.
    let _ = fadvise(image, 0, None, Advice::Random);
    requests.iter().take(AHEAD as usize).for_each(ask);
    for (number, request) in requests.iter().enumerate() {
        if cancelled() {
            return;
        }
        if let Some(next) = requests.get(number + AHEAD as usize) {
            ask(next);
        }
        // The last byte comes with the last page.
        if rustix::io::pread(image, &mut [0u8], request.1 - 1).is_err() {
            return;
        }
        runs.up_to(request.1, |file, offset, length| files.fill(front, file, offset, length));
    }
    // Where reading is fast, originals are still being covered. What has changed since never is.
    let end = Instant::now() + LONGEST_COVERING;
    files.fill_waiting(front);
    while !files.waiting.is_empty() && Instant::now() < end && !cancelled() {
        thread::sleep(LOOK_INTERVAL);
        files.fill_waiting(front);
    }
}

/// Whether the last page that the given programs need of the image is in memory.
pub(super) fn is_in_memory(image: &File, front: &Front, programs: u64) -> bool {
    let Some(last) = requests(front, programs).last().and_then(|request| request.1.checked_sub(1)) else {
        return false;
    };
    match cachestat(image, last, 1) {
        Ok(found) => found.cached > 0,
        // Queues a read of a page that is not there; where the disk answers at once (memory, emulated machines), it finds that page.
        Err(_) => {
            let mut byte = [0u8];
            preadv2(image, &mut [IoSliceMut::new(&mut byte)], last, ReadWriteFlags::NOWAIT) == Ok(1)
        }
    }
}

/// Queues the reads without waiting: for a process that must end before the program starts.
pub(super) fn queue(image: &File, front: &Front) {
    let _ = fadvise(image, 0, NonZeroU64::new(front.index.hot.end), Advice::WillNeed);
}

/// The ranges to be read, in order: metadata, the index's front part, and all runs of these programs.
fn requests(front: &Front, programs: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut add = |start: u64, end: u64| match ranges.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    };
    let mut place = first_run(front);
    add(0, place);
    for run in &front.index.runs {
        let end = place.saturating_add(run.stored());
        if run.programs & programs != 0 {
            add(place, end);
        }
        place = end;
    }
    let mut requests = Vec::new();
    for (start, end) in ranges {
        let mut from = start;
        while from < end {
            let to = end.min((from + REQUEST) / REQUEST * REQUEST);
            requests.push((from, to));
            from = to;
        }
    }
    requests
}

/// Where the first run lies: behind the pages of the index's front part.
fn first_run(front: &Front) -> u64 {
    front.index.hot.start.saturating_add(front.index.front_length().next_multiple_of(PAGE_SIZE))
}

/// The runs of a program, as far as they are read.
struct Runs<'front> {
    front: &'front Front,
    programs: u64,
    next: usize,
    place: u64,
}

impl<'front> Runs<'front> {
    fn new(front: &'front Front, programs: u64) -> Self {
        Self { front, programs, next: 0, place: first_run(front) }
    }

    /// Calls `take` with the hot file, the offset in it and the length of each run that ends before a place of the image.
    fn up_to(&mut self, end: u64, mut take: impl FnMut(usize, u64, u64)) {
        while let Some(run) = self.front.index.runs.get(self.next) {
            let behind = self.place.saturating_add(run.stored());
            if behind > end {
                return;
            }
            if run.programs & self.programs != 0 {
                let bytes = |pages: u32| u64::from(pages).saturating_mul(PAGE_SIZE);
                take(run.file as usize, bytes(run.start), bytes(run.pages));
            }
            self.place = behind;
            self.next += 1;
        }
    }
}

/// Files in the program's place, opened when they are needed.
#[derive(Default)]
struct Files {
    open: HashMap<usize, File>,
    /// Runs of files that the image does not cover, or not yet: hot file, offset, length.
    waiting: Vec<(usize, u64, u64)>,
}

impl Files {
    fn fill(&mut self, front: &Front, number: usize, offset: u64, length: u64) {
        match self.file(front, number) {
            Some(file) => {
                let _ = fadvise(file, offset, NonZeroU64::new(length), Advice::WillNeed);
            }
            None => self.waiting.push((number, offset, length)),
        }
    }

    /// The file in the program's place, if the image covers it.
    fn file(&mut self, front: &Front, number: usize) -> Option<&File> {
        if let Entry::Vacant(vacant) = self.open.entry(number) {
            let path = &front.index.files.get(number)?.path;
            let file = open_regular(path).ok()?;
            vacant.insert(is_on_image(&file).then_some(file)?);
        }
        self.open.get(&number)
    }

    /// Tries again what was not covered.
    fn fill_waiting(&mut self, front: &Front) {
        let mut uncovered = HashSet::new();
        for (number, offset, length) in std::mem::take(&mut self.waiting) {
            if uncovered.contains(&number) {
                self.waiting.push((number, offset, length));
                continue;
            }
            let before = self.waiting.len();
            self.fill(front, number, offset, length);
            if self.waiting.len() > before {
                uncovered.insert(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::index::{HotPages, Index};

    use super::*;

    /// A front with runs of up to so many pages, compressed or not, of programs by their bits.
    fn front(runs: &[(u64, u32, u32)]) -> Front {
        let runs =
            runs.iter().map(|&(programs, pages, packed)| HotPages { programs, file: 0, start: 0, pages, packed });
        let mut index = Index { hot: 8192..8192, runs: runs.collect(), ..Index::default() };
        let stored: u64 = index.runs.iter().map(HotPages::stored).sum();
        index.hot.end = 8192 + index.front_length().next_multiple_of(PAGE_SIZE) + stored;
        Front::of(index)
    }

    proptest! {
        #[test]
        fn exactly_the_runs_of_the_programs_are_read(
            runs in prop::collection::vec((0u64..8, 1u32..700, prop_oneof![Just(0u32), 1u32..9000]), 0..60), programs in 0u64..8,
        ) {
            let front = front(&runs);
            let requests = requests(&front, programs);
            // By parts that no request or run divides: what each wants, and what is read.
            let begin = first_run(&front);
            let mut wanted = vec![(0, begin)];
            let mut place = begin;
            for run in &front.index.runs {
                if run.programs & programs != 0 {
                    wanted.push((place, place + run.stored()));
                }
                place += run.stored();
            }
            prop_assert_eq!(place, front.index.hot.end);
            let mut points: Vec<u64> = wanted.iter().chain(&requests).flat_map(|&(start, end)| [start, end]).collect();
            points.sort_unstable();
            points.dedup();
            let is_in = |ranges: &[(u64, u64)], point| ranges.iter().filter(|(start, end)| (*start..*end).contains(&point)).count();
            for point in points {
                prop_assert_eq!(is_in(&requests, point), is_in(&wanted, point), "at {}", point);
            }
            for &(start, end) in &requests {
                // Within one MiB of the file, so that requests of neighbours never share one.
                prop_assert!(start < end && start / REQUEST == (end - 1) / REQUEST, "{}..{}", start, end);
            }
            prop_assert!(requests.is_sorted());
        }

        #[test]
        fn each_run_of_the_programs_is_filled_once_and_only_when_it_was_read(
            runs in prop::collection::vec((0u64..8, 1u32..700, prop_oneof![Just(0u32), 1u32..9000]), 0..60), programs in 0u64..8,
        ) {
            let front = front(&runs);
            let mut filler = Runs::new(&front, programs);
            let mut filled = Vec::new();
            for (_, end) in requests(&front, programs) {
                filler.up_to(end, |_, _, length| filled.push(length));
                prop_assert!(filler.place <= end);
            }
            let wanted = runs.iter().filter(|run| run.0 & programs != 0);
            prop_assert_eq!(filled, wanted.map(|run| u64::from(run.1) * PAGE_SIZE).collect::<Vec<_>>());
        }
    }
}
