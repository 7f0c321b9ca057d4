//! The planner: which pages to read, in which order, before or beside the program.
//!
//! A pure function. It makes a candidate plan for each [`Strategy`], predicts the start with each, and keeps the
//! shortest. For the measurements behind its rules see `docs/decisions/0003-planning.md`.

use std::time::Duration;

use coldstart_profile::plan::{PlanSummary, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use coldstart_profile::{FileKind, FileUse, NameKind, WorkingSet};

use crate::cost::{Request, completion_times, readable_gap, request_time, transfer_time};
use crate::windows::{Piece, cut_windows};

/// When the replay runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The program waits until all is read, in order of device offset.
    Blocking,
    /// The program runs while pages are read in order of first use.
    Concurrent,
}

/// The planner's input.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'input> {
    /// The working set of the start.
    pub working_set: &'input WorkingSet,
    /// The device that holds most of it.
    pub device: PlannedDevice,
    /// Time of a hot start of the same program, if measured.
    pub hot_start: Option<Duration>,
    /// Creation time for the plan, in seconds since 1970-01-01 UTC.
    pub recorded_at: i64,
    /// Use this strategy instead of the one predicted to be faster.
    pub strategy: Option<Strategy>,
}

/// Longest single read, in pages (512 KiB): long enough to keep a disk streaming, short enough that a page needed
/// now does not wait long behind one.
const CHUNK_PAGES: u32 = 128;
/// More readers than this only compete for the processor.
const MOST_THREADS: u32 = 16;
/// Windows of a concurrent replay are what the device transfers in this many latencies, but at least 1 MiB.
const WINDOW_LATENCIES: u32 = 4;
const SMALLEST_WINDOW_BYTES: u64 = 1 << 20;

/// Plans the replay of a working set.
pub fn plan_prefetch(input: &PlanInput<'_>) -> PrefetchPlan {
    match input.strategy {
        Some(strategy) => candidate(input, strategy),
        None => {
            let blocking = candidate(input, Strategy::Blocking);
            let concurrent = candidate(input, Strategy::Concurrent);
            if predicted_start(input, &concurrent, Strategy::Concurrent)
                <= predicted_start(input, &blocking, Strategy::Blocking)
            {
                concurrent
            } else {
                blocking
            }
        }
    }
}

fn candidate(input: &PlanInput<'_>, strategy: Strategy) -> PrefetchPlan {
    let mut targets = Targets::new(input.working_set);
    let steps = match strategy {
        Strategy::Blocking => blocking_steps(input, &mut targets),
        Strategy::Concurrent => concurrent_steps(input, &mut targets),
    };
    let threads = match strategy {
        // One reader keeps the order that the steps were sorted into.
        Strategy::Blocking if input.device.seeks => 1,
        _ => input.device.parallel.clamp(1, MOST_THREADS),
    };
    let mut plan = PrefetchPlan {
        summary: PlanSummary {
            recorded_at: input.recorded_at,
            recorded_start: input.working_set.duration,
            hot_start: input.hot_start.unwrap_or_default(),
            windows_before_start: if strategy == Strategy::Blocking { u32::MAX } else { 0 },
            threads,
            chunk_pages: CHUNK_PAGES,
            device: input.device,
            predicted_replay: Duration::ZERO,
            predicted_start: Duration::ZERO,
        },
        command: input.working_set.command.clone(),
        targets: targets.list,
        steps,
    };
    plan.summary.predicted_replay = replay_times(&plan, &input.device).last().copied().unwrap_or_default();
    if input.hot_start.is_some() {
        plan.summary.predicted_start = predicted_start(input, &plan, strategy);
    }
    plan
}

/// Metadata blocks, then names (by now in memory), then pages, each in order of device offset.
fn blocking_steps(input: &PlanInput<'_>, targets: &mut Targets<'_>) -> Vec<Step> {
    let gap = readable_gap(&input.device);
    let pieces: Vec<Piece> = cut_windows(input.working_set, u64::MAX, gap).into_iter().flatten().collect();
    let mut steps: Vec<Step> = pieces.into_iter().flat_map(|piece| targets.page_steps(piece, 2)).collect();
    for step in &mut steps {
        if targets.list[step.target as usize].kind == TargetKind::BlockDevice {
            step.window = 0;
        }
    }
    steps.extend(targets.name_steps(|_| 1));
    if input.device.seeks {
        // Files without a known device offset go last, in directory order.
        steps.sort_by_key(|step| (step.window, step.physical.unwrap_or(u64::MAX), step.target));
    } else {
        steps.sort_by_key(|step| (step.window, step.first_use));
    }
    steps
}

/// Metadata blocks first, in one batch: opening a file takes up to four of them, each found by the one before. Then names and pages
/// together in order of first use.
fn concurrent_steps(input: &PlanInput<'_>, targets: &mut Targets<'_>) -> Vec<Step> {
    let in_flight = input.device.bandwidth as f64 * (input.device.latency * WINDOW_LATENCIES).as_secs_f64();
    let window_bytes = (in_flight as u64).max(SMALLEST_WINDOW_BYTES);
    let windows = cut_windows(input.working_set, window_bytes, readable_gap(&input.device));
    let window_starts: Vec<Duration> =
        windows.iter().map(|window| window.iter().map(|piece| piece.at).min().unwrap_or_default()).collect();
    let mut steps = Vec::new();
    for (number, window) in (0u32..).zip(windows) {
        steps.extend(window.into_iter().flat_map(|piece| targets.page_steps(piece, number)));
    }
    let window_of = |at: Duration| window_starts.partition_point(|&start| start <= at).saturating_sub(1) as u32;
    steps.extend(targets.name_steps(window_of));
    let is_metadata = |step: &Step| {
        targets.list.get(step.target as usize).is_some_and(|target| target.kind == TargetKind::BlockDevice)
    };
    for step in steps.iter_mut().filter(|step| is_metadata(step)) {
        step.window = 0;
    }
    steps.sort_by_key(|step| (step.window, !is_metadata(step), step.first_use));
    steps
}

/// Predicted time from launch to readiness. Without a hot start's time only the replay is compared.
fn predicted_start(input: &PlanInput<'_>, plan: &PrefetchPlan, strategy: Strategy) -> Duration {
    let replay = replay_times(plan, &input.device);
    let all = replay.last().copied().unwrap_or_default();
    let hot = input.hot_start.unwrap_or_default();
    match strategy {
        Strategy::Blocking => all + hot,
        // Two readers that compete for one head gain nothing: measured 11.3 to 11.6 s against 13.0 s without any plan
        // and 3.6 s with a blocking one.
        Strategy::Concurrent if input.device.seeks => input.working_set.duration.max(all + hot),
        Strategy::Concurrent => overlapped(&replay, hot),
    }
}

/// A program of `hot` work meets the steps evenly spread over its run and waits for each.
fn overlapped(replay: &[Duration], hot: Duration) -> Duration {
    let share = hot.checked_div(replay.len() as u32).unwrap_or_default();
    let mut at = Duration::ZERO;
    for &done in replay {
        at = at.max(done) + share;
    }
    at.max(hot)
}

/// The completion time of each step.
fn replay_times(plan: &PrefetchPlan, device: &PlannedDevice) -> Vec<Duration> {
    let has_metadata = plan.targets.iter().any(|target| target.kind == TargetKind::BlockDevice);
    let names_are_free = has_metadata && device.seeks;
    let requests = plan
        .steps
        .iter()
        .filter(|step| step.pages.is_some() || !names_are_free)
        .map(|step| Request { physical: step.physical, bytes: step.pages.map_or(0, |pages| pages.length()) });
    completion_times(requests, device)
}

/// The shortest time in which the device could deliver a working set: every byte once, at full bandwidth, one latency.
pub fn transfer_limit(bytes: u64, device: &PlannedDevice) -> Duration {
    transfer_time(bytes, device.bandwidth) + request_time(device)
}

/// The plan's table of targets: one for each file, one for each name.
struct Targets<'set> {
    working_set: &'set WorkingSet,
    list: Vec<Target>,
}

impl<'set> Targets<'set> {
    /// Files first, so that a file's number in the working set is its target's number.
    fn new(working_set: &'set WorkingSet) -> Self {
        let file = |file: &FileUse| Target {
            path: file.path.clone(),
            kind: match file.kind {
                FileKind::Regular => TargetKind::File(file.identity),
                FileKind::Rewritten => TargetKind::RewrittenFile(file.identity),
                FileKind::BlockDevice => TargetKind::BlockDevice,
            },
        };
        let mut list: Vec<Target> = working_set.files.iter().map(file).collect();
        list.extend(working_set.names.iter().map(|name| Target {
            path: name.path.clone(),
            kind: if name.kind == NameKind::Listed { TargetKind::Directory } else { TargetKind::Name },
        }));
        Self { working_set, list }
    }

    /// One step for each contiguous run of the piece on the disk, none longer than a chunk.
    fn page_steps(&self, piece: Piece, window: u32) -> Vec<Step> {
        let file = &self.working_set.files[piece.file];
        let mut steps = Vec::new();
        let mut start = piece.range.start.0;
        while start < piece.range.end().0 {
            let (physical, run_end) = place(file, start);
            let end = piece.range.end().0.min(run_end).min(start + u64::from(CHUNK_PAGES));
            steps.push(Step {
                target: piece.file as u32,
                window,
                pages: coldstart_profile::PageRange::new(start, end - start),
                first_use: piece.at,
                physical,
            });
            start = end;
        }
        steps
    }

    fn name_steps(&self, window_of: impl Fn(Duration) -> u32) -> Vec<Step> {
        let first = self.working_set.files.len() as u32;
        (first..)
            .zip(&self.working_set.names)
            .map(|(target, name)| Step {
                target,
                window: window_of(name.at),
                pages: None,
                first_use: name.at,
                physical: None,
            })
            .collect()
    }
}

/// The device offset of a page, and the page where its contiguous run ends (always after the page).
fn place(file: &FileUse, page: u64) -> (Option<u64>, u64) {
    if file.kind == FileKind::BlockDevice {
        return (Some(page * coldstart_profile::PAGE_SIZE), u64::MAX);
    }
    let offset = page * coldstart_profile::PAGE_SIZE;
    let next = file.extents.partition_point(|extent| extent.file_offset <= offset);
    let run_end = file.extents.get(next).map_or(u64::MAX, |extent| extent.file_offset / coldstart_profile::PAGE_SIZE);
    let inside = next.checked_sub(1).and_then(|at| file.extents.get(at));
    match inside.filter(|extent| offset < extent.file_offset + extent.length) {
        Some(extent) => {
            let end = (extent.file_offset + extent.length).div_ceil(coldstart_profile::PAGE_SIZE);
            (Some(extent.physical + (offset - extent.file_offset)), end.max(page + 1))
        }
        None => (None, run_end.max(page + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::{FileIdentity, NameUse, PageRange, Touched};

    fn file(path: &str, kind: FileKind, pages: u64, at: u64) -> FileUse {
        let at = Duration::from_millis(at);
        FileUse {
            path: path.into(),
            kind,
            identity: FileIdentity { size: 64 << 20, modified: 0 },
            device: 1,
            touched: PageRange::new(7, pages).map(|range| Touched { range, at }).into_iter().collect(),
            extents: Vec::new(),
        }
    }

    #[test]
    fn beside_the_program_metadata_comes_first_and_all_else_in_order_of_first_use() {
        let name = NameUse { path: "/n".into(), kind: NameKind::Found, at: Duration::from_millis(3) };
        let set = WorkingSet {
            files: vec![
                file("/a", FileKind::Regular, 500, 1),
                file("/dev/d", FileKind::BlockDevice, 2, 9),
                file("/b", FileKind::Regular, 5, 5),
            ],
            names: vec![name],
            duration: Duration::from_secs(1),
            ..WorkingSet::default()
        };
        let latency = Duration::from_millis(1);
        let plan = plan_prefetch(&PlanInput {
            working_set: &set,
            device: PlannedDevice { latency, bandwidth: 250_000_000, parallel: 32, seeks: false },
            hot_start: None,
            recorded_at: 0,
            strategy: Some(Strategy::Concurrent),
        });
        let mut order: Vec<u32> = plan.steps.iter().map(|step| step.target).collect();
        order.dedup();
        assert_eq!(order, [1, 0, 3, 2], "device, /a, the name, /b: {:?}", plan.steps);
        assert!(plan.steps.is_sorted_by_key(|step| step.window));
    }
}
