//! The pages that a traced start used, by the files' numbers in the trace.
//!
//! Unlike a working set it looks at no file of this machine: the start may have run in another root, or in a container that is gone.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use coldstart_profile::trace::{EventKind, FileCategory, FileId, FillCause, PagesSeen, Trace};
use coldstart_profile::{PageRange, merge_ranges};

use crate::touched_working_set::{common, fault_around_window, is_use};

/// Pages in the order of their first use until the start was ready. A page may come several times.
///
/// Used are pages that were touched or read. A fault that mapped pages around it counts for those of them that were read from the disk. A file of which
/// no use was seen (reads without root, `io_uring`; no touches recorded at all) counts with all pages that were read from the disk for the
/// program.
pub fn page_uses(trace: &Trace) -> Vec<(FileId, PageRange)> {
    let ready = trace.run.ready_at.unwrap_or(trace.run.ended_at);
    let is_on_disk = |file: &FileId| {
        let category = trace.file(*file).map(|file| file.category);
        category.is_some_and(|category| !matches!(category, FileCategory::Memory | FileCategory::Metadata))
    };
    let mut uses: Vec<(Duration, FileId, PageRange)> = Vec::new();
    let mut fills: Vec<(Duration, FileId, PageRange)> = Vec::new();
    let mut reads_are_known = false;
    for event in trace.events.iter().filter(|event| event.at <= ready) {
        let Some(file) = event.file.filter(is_on_disk) else { continue };
        let Some(range) = PageRange::new(event.page, event.pages.into()) else { continue };
        let at = event.at.since_launch();
        reads_are_known |= event.kind == EventKind::Read;
        if is_use(event) {
            uses.push((at, file, range));
        } else if matches!(event.kind, EventKind::Fill(cause) if cause != FillCause::Other) {
            fills.push((at, file, range));
        }
    }
    let mut filled: HashMap<FileId, Vec<PageRange>> = HashMap::new();
    for (_, file, range) in &fills {
        filled.entry(*file).or_default().push(*range);
    }
    for ranges in filled.values_mut() {
        *ranges = merge_ranges(std::mem::take(ranges), 0);
    }
    let mut around = Vec::new();
    for event in trace.events.iter().filter(|event| event.at <= ready && is_use(event) && event.kind != EventKind::Read)
    {
        let seen = trace.process_of(event).and_then(|process| trace.process(process)).map(|process| process.pages);
        let known = event.file.and_then(|file| filled.get(&file).map(|known| (file, known)));
        let (Some((file, known)), Some(window)) = (known, fault_around_window(event.page)) else { continue };
        if seen != Some(PagesSeen::Each) {
            let first = known.partition_point(|known| known.end().0 <= window.start.0);
            let parts = known.iter().skip(first).map_while(|known| common(*known, window));
            around.extend(parts.map(|part| (event.at.since_launch(), file, part)));
        }
    }
    uses.extend(around);
    let used: HashSet<FileId> = uses.iter().map(|(_, file, _)| *file).collect();
    let knows_touches = trace.run.pages != PagesSeen::None;
    // Whoever maps a file has usually read its header.
    let counts = |file: &FileId, range: &PageRange| {
        !knows_touches || !used.contains(file) || (!reads_are_known && range.start.0 == 0)
    };
    uses.extend(fills.into_iter().filter(|(_, file, range)| counts(file, range)));
    // Stable: what happened at one moment stays in the order of the trace.
    uses.sort_by_key(|(at, _, _)| *at);
    uses.into_iter().map(|(_, file, range)| (file, range)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use coldstart_profile::trace::{
        Event, Layer, Moment, ProcessId, ThreadId, Touch, TracedFile, TracedProcess, TracedThread,
    };

    use super::*;

    fn event(at: u64, kind: EventKind, file: u32, page: u64, pages: u32) -> Event {
        Event { at: Moment(at), thread: ThreadId(0), kind, file: Some(FileId(file)), page, pages, code: None }
    }

    fn trace(pages: PagesSeen, events: Vec<Event>) -> Trace {
        let mut trace = Trace { events, ..Trace::default() };
        trace.run.layers = [Layer::Pages, Layer::Files].into();
        trace.run.pages = pages;
        trace.run.ended_at = Moment(100);
        trace.processes = vec![TracedProcess { pages, ..TracedProcess::default() }];
        trace.threads = vec![TracedThread { number: 1, process: ProcessId(0) }];
        let file = |path: &str, category| TracedFile {
            path: PathBuf::from(path),
            device: 1,
            inode: 1,
            identity: None,
            category,
        };
        trace.files = vec![
            file("/a", FileCategory::System),
            file("/b", FileCategory::Data),
            file("/run/x", FileCategory::Memory),
        ];
        trace
    }

    fn pages(trace: &Trace) -> Vec<(u32, u64, u64)> {
        page_uses(trace).into_iter().map(|(file, range)| (file.0, range.start.0, range.count)).collect()
    }

    #[test]
    fn used_pages_come_in_the_order_of_time_and_files_without_uses_by_their_fills() {
        let touch = EventKind::Touch(Touch::default());
        let zero = EventKind::Touch(Touch { zero_filled: true, ..Touch::default() });
        let events = vec![
            event(1, EventKind::Fill(FillCause::Demand), 0, 0, 32),
            event(2, EventKind::Read, 0, 0, 1),
            event(3, EventKind::Fill(FillCause::Demand), 1, 4, 2),
            event(4, touch, 0, 20, 1),
            event(5, zero, 0, 900, 1),
            event(6, touch, 2, 0, 1),
            event(7, EventKind::Fill(FillCause::Other), 1, 9, 1),
            event(101, touch, 0, 3, 1),
        ];
        assert_eq!(pages(&trace(PagesSeen::Each, events.clone())), [(0, 0, 1), (1, 4, 2), (0, 20, 1)]);
        // Pages around a fault were mapped if they were there: 16 to 31.
        assert_eq!(
            pages(&trace(PagesSeen::FaultAround, events.clone())),
            [(0, 0, 1), (1, 4, 2), (0, 20, 1), (0, 16, 16)]
        );
        let without = events.into_iter().filter(|event| !matches!(event.kind, EventKind::Touch(_))).collect();
        assert_eq!(pages(&trace(PagesSeen::None, without)), [(0, 0, 32), (0, 0, 1), (1, 4, 2)]);
    }
}
