//! Executing a plan.
//!
//! Reads are queued with `posix_fadvise(WILLNEED)`, which fills the page cache without copying, and are then waited
//! for by reading one byte of their last page. Waiting matters: otherwise the whole plan would queue up in the block
//! layer at once, and a page that the program needs now would wait behind all of it. On a disk with one head, where
//! the program waits anyway, everything is queued first, so that the disk never idles between two reads, and the
//! pages stay mapped until the program has had time to use them, because some kernels reclaim unused pages at once.
//! A replay never fails the start: what cannot be read is counted and skipped.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use coldstart_host::mounts::is_on_root_mount;
use coldstart_profile::plan::{PlanView, Step, TargetKind};
use coldstart_profile::{FileIdentity, PAGE_SIZE, PageRange};
use coldstart_sys::held_pages::HeldPages;
use coldstart_sys::named_file::{InodeKind, LastLink, NamedFile};
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use rustix::fs::{Advice, Mode, OFlags};

/// The result of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Steps executed.
    pub steps: u64,
    /// Bytes requested; resident ones cost no I/O.
    pub bytes: u64,
    /// Steps skipped, because their file changed, is missing or cannot be read.
    pub left_out: u64,
}

/// The result of checking a plan's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOutcome {
    /// It is as recorded.
    Current,
    /// It has another size or modification time: its pages are not read.
    Changed {
        /// Its current state.
        now: FileIdentity,
    },
    /// It does not exist any more, or is of another type than recorded.
    Missing,
    /// It may not be opened or looked up.
    Unreadable,
    /// A name, which is looked up whatever it means now.
    NotChecked,
}

/// A replay of one plan.
#[derive(Debug)]
pub struct Replay<'plan> {
    plan: PlanView<'plan>,
    /// Opened at the first step that needs it, by whichever thread comes first.
    files: Vec<OnceLock<Option<OpenTarget>>>,
    steps_left: Vec<AtomicUsize>,
    held: Mutex<Vec<HeldPages>>,
    report: Mutex<ReplayReport>,
    targets: TargetCounts,
    /// Whether the disk has a head that moves.
    seeks: bool,
}

#[derive(Debug)]
struct OpenTarget {
    descriptor: Mutex<Option<std::sync::Arc<OwnedFd>>>,
    /// Limit of bytes requested.
    size: u64,
    /// Whether its pages may be held for the program: never where that would keep a file system from being unmounted.
    may_hold: bool,
}

/// Files that were opened to be read.
#[derive(Debug, Default)]
struct TargetCounts {
    current: AtomicUsize,
    stale: AtomicUsize,
}

/// A plan is given up when so many files are stale, and more than half of all that were tried.
const STALE_ENOUGH: usize = 16;
/// Files that are looked at before the program waits: those that it uses first, so that looking at them is not in vain.
const FIRST_FILES: usize = 3;

impl<'plan> Replay<'plan> {
    /// Prepares a replay; opens nothing yet.
    pub fn new(plan: PlanView<'plan>) -> Self {
        let mut files = Vec::new();
        files.resize_with(plan.target_count(), OnceLock::new);
        let mut steps_left: Vec<AtomicUsize> = Vec::new();
        steps_left.resize_with(plan.target_count(), AtomicUsize::default);
        for step in plan.steps() {
            if let Some(left) = steps_left.get(step.target as usize) {
                left.fetch_add(1, Ordering::Relaxed);
            }
        }
        Self {
            seeks: plan.summary().device.seeks,
            plan,
            files,
            steps_left,
            held: Mutex::default(),
            report: Mutex::default(),
            targets: TargetCounts::default(),
        }
    }

    /// The same replay, on a disk that has a head that moves, or has none, whatever the plan was made for.
    #[must_use]
    pub fn on_disk_that_seeks(self, seeks: bool) -> Self {
        Self { seeks, ..self }
    }

    /// Executes the steps before the start, window after window. Stops when `cancelled` returns true.
    pub fn before_start(&self, cancelled: &(dyn Fn() -> bool + Sync)) {
        let barrier = self.plan.summary().windows_before_start;
        let steps: Vec<Step> = self.plan.steps().take_while(|step| step.window < barrier).collect();
        for window in steps.chunk_by(|a, b| a.window == b.window) {
            self.run(window, cancelled);
        }
    }

    /// Executes the steps beside the program, in order, without waiting between windows.
    pub fn beside_program(&self, cancelled: &(dyn Fn() -> bool + Sync)) {
        self.run(&self.steps_beside(), cancelled);
    }

    /// Queues the reads of [`Self::beside_program`] without waiting: for a replay that must end before the program
    /// starts. The kernel continues to read.
    pub fn queue_rest(&self, cancelled: &(dyn Fn() -> bool + Sync)) {
        self.run_in_threads(&self.steps_beside(), Act::Ask, cancelled);
    }

    /// Whether most of the files that the program uses first are stale. The program should not wait for such a plan.
    pub fn looks_stale(&self) -> bool {
        let mut first: Vec<(Duration, u32)> = Vec::new();
        for step in self.plan.steps().filter(|step| step.pages.is_some()) {
            let is_later = first.len() >= FIRST_FILES && first.last().is_some_and(|last| last.0 <= step.first_use);
            if !is_later && first.iter().all(|&(_, target)| target != step.target) {
                first.push((step.first_use, step.target));
                first.sort_unstable();
                first.truncate(FIRST_FILES);
            }
        }
        let stale = first.iter().filter(|&&(_, number)| {
            let found = self.plan.target(number).and_then(|(path, kind)| open_target(path, kind).ok());
            found.is_none_or(|(_, outcome, _)| outcome != TargetOutcome::Current)
        });
        stale.count() * 2 > first.len()
    }

    /// Whether most of the files so far were stale: the rest is hardly worth a look.
    pub fn is_mostly_stale(&self) -> bool {
        let stale = self.targets.stale.load(Ordering::Relaxed);
        stale >= STALE_ENOUGH && stale > self.targets.current.load(Ordering::Relaxed)
    }

    fn steps_beside(&self) -> Vec<Step> {
        let barrier = self.plan.summary().windows_before_start;
        self.plan.steps().skip_while(|step| step.window < barrier).collect()
    }

    /// The result so far.
    pub fn report(&self) -> ReplayReport {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, steps: &[Step], cancelled: &(dyn Fn() -> bool + Sync)) {
        if self.seeks {
            let queue = Queue::default();
            self.ask_all_and_follow(steps, &queue, cancelled);
            self.add_to_report(steps, queue);
        } else {
            self.run_in_threads(steps, Act::AskAndWait, cancelled);
        }
    }

    fn run_in_threads(&self, steps: &[Step], act: Act, cancelled: &(dyn Fn() -> bool + Sync)) {
        // A plan from elsewhere may contain any number of threads.
        let threads = (self.plan.summary().threads as usize).clamp(1, 64).min(steps.len().max(1));
        let queue = Queue::default();
        let work = || while self.work_one(steps, &queue, act, cancelled) {};
        thread::scope(|scope| {
            for _ in 1..threads {
                // Fewer threads only make the replay slower.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        self.add_to_report(steps, queue);
    }

    fn add_to_report(&self, steps: &[Step], queue: Queue) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let done = queue.done.into_inner();
        report.steps += done;
        report.left_out += (steps.len() as u64).saturating_sub(done);
        report.bytes += queue.bytes.into_inner();
    }

    /// Queues all reads in order, while a second thread follows, waits for them, and maps the pages: until
    /// mapped, a page may be reclaimed again.
    fn ask_all_and_follow(&self, steps: &[Step], queue: &Queue, cancelled: &(dyn Fn() -> bool + Sync)) {
        let asked = AtomicUsize::new(0);
        let follow = || {
            for (number, step) in steps.iter().enumerate() {
                // Never ahead of the queue: waiting for an unqueued page reads it out of order.
                while asked.load(Ordering::Acquire) <= number {
                    if cancelled() {
                        return;
                    }
                    thread::sleep(FOLLOW_INTERVAL);
                }
                if let Some(pages) = step.pages {
                    self.read_pages(step.target, pages, Act::Wait);
                }
                self.close_after_last(step.target);
            }
        };
        thread::scope(|scope| {
            let follower = thread::Builder::new().spawn_scoped(scope, follow);
            while self.work_one(steps, queue, Act::AskForFollower, cancelled) {
                asked.fetch_add(1, Ordering::Release);
            }
            // Cancelled or done: no more waiting.
            asked.store(usize::MAX, Ordering::Release);
            if follower.is_err() {
                follow();
            }
        });
    }

    /// Executes the next step; false when there is none, or when it was cancelled.
    fn work_one(&self, steps: &[Step], queue: &Queue, act: Act, cancelled: &(dyn Fn() -> bool + Sync)) -> bool {
        let next = queue.next.fetch_add(1, Ordering::Relaxed);
        let Some(step) = steps.get(next).filter(|_| !cancelled()) else { return false };
        let bytes = match step.pages {
            Some(pages) => self.read_pages(step.target, pages, act),
            None => self.look_up(step.target),
        };
        if let Some(bytes) = bytes {
            queue.done.fetch_add(1, Ordering::Relaxed);
            queue.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        if act != Act::AskForFollower {
            self.close_after_last(step.target);
        }
        true
    }

    /// Bytes requested; `None` if the file is skipped.
    fn read_pages(&self, target: u32, pages: PageRange, act: Act) -> Option<u64> {
        let slot = self.files.get(target as usize)?;
        let open = slot.get_or_init(|| self.open(target)).as_ref()?;
        let descriptor = open.descriptor.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let start = pages.offset();
        let end = start.saturating_add(pages.length()).min(open.size);
        let chunk = u64::from(self.plan.summary().chunk_pages) * PAGE_SIZE;
        let mut at = start;
        while at < end {
            let length = chunk.min(end - at);
            if act != Act::Wait {
                let length = std::num::NonZeroU64::new(length);
                let _ = rustix::fs::fadvise(&descriptor, at, length, Advice::WillNeed);
            }
            if act == Act::AskAndWait || act == Act::Wait && !(open.may_hold && self.hold(&descriptor, at, length)) {
                // The last byte comes with the last page; the ones before it were queued earlier.
                let _ = rustix::io::pread(&descriptor, &mut [0u8], at + length - 1);
            }
            at += length;
        }
        Some(end.saturating_sub(start))
    }

    fn open(&self, target: u32) -> Option<OpenTarget> {
        let (path, kind) = self.plan.target(target)?;
        let found = open_target(path, kind).ok().filter(|(_, outcome, _)| *outcome == TargetOutcome::Current);
        let count = if found.is_some() { &self.targets.current } else { &self.targets.stale };
        count.fetch_add(1, Ordering::Relaxed);
        let (descriptor, _, size) = found?;
        // The mount of the root directory is the program's, too, and nobody unmounts it.
        let may_hold = self.seeks && is_on_root_mount(&descriptor);
        Some(OpenTarget { descriptor: Mutex::new(Some(std::sync::Arc::new(descriptor))), size, may_hold })
    }

    /// Waits for pages and maps them until this replay is dropped; false where the kernel cannot.
    fn hold(&self, file: &OwnedFd, offset: u64, length: u64) -> bool {
        let held = usize::try_from(length).ok().and_then(|length| HeldPages::hold(file, offset, length).ok());
        let could = held.is_some();
        self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(held);
        could
    }

    /// Whether pages are kept mapped for the program until this replay is dropped.
    pub fn holds_pages(&self) -> bool {
        !self.held.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Descriptors are scarce: 1,024 by default, and plans of large programs have more files than that.
    fn close_after_last(&self, target: u32) {
        let (Some(left), Some(slot)) = (self.steps_left.get(target as usize), self.files.get(target as usize)) else {
            return;
        };
        if left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(Some(open)) = slot.get()
        {
            open.descriptor.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    fn look_up(&self, target: u32) -> Option<u64> {
        let (path, kind) = self.plan.target(target)?;
        if kind == TargetKind::Directory {
            list_directory(path)?;
        } else {
            // Looking up a missing name reads the directory blocks.
            let _ = rustix::fs::stat(path);
        }
        Some(0)
    }
}

/// The follower's polling interval: a tenth of the time of a read on a disk with one head.
const FOLLOW_INTERVAL: Duration = Duration::from_micros(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Queue the read.
    Ask,
    /// Queue the read, and leave the file open for the waiting thread.
    AskForFollower,
    /// Wait for a queued read, and keep its pages.
    Wait,
    AskAndWait,
}

#[derive(Default)]
struct Queue {
    next: AtomicUsize,
    done: AtomicU64,
    bytes: AtomicU64,
}

fn list_directory(path: &Path) -> Option<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut entries = rustix::fs::RawDir::new(&directory, buffer.spare_capacity_mut());
    while entries.next().is_some_and(|entry| entry.is_ok()) {}
    Some(())
}

/// Opens a target for reading, if its type is the recorded one, and compares it with the record. A replaced target is
/// not opened: opening could have effects.
fn open_target(path: &Path, kind: TargetKind) -> Result<(OwnedFd, TargetOutcome, u64), TargetOutcome> {
    let wanted = match kind {
        TargetKind::File(_) | TargetKind::RewrittenFile(_) => InodeKind::Regular,
        TargetKind::BlockDevice => InodeKind::BlockDevice,
        TargetKind::Name | TargetKind::Directory => return Err(TargetOutcome::NotChecked),
    };
    let found = NamedFile::find(path, LastLink::Follow).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => TargetOutcome::Unreadable,
        _ => TargetOutcome::Missing,
    })?;
    if found.kind() != wanted {
        return Err(TargetOutcome::Missing);
    }
    let (file, stat) = found.open_quietly().map_err(|_| TargetOutcome::Unreadable)?;
    let now = FileIdentity::from_stat(stat.st_size, stat.st_mtime, stat.st_mtime_nsec as i64);
    let (outcome, size) = match kind {
        TargetKind::File(recorded) if now != recorded => (TargetOutcome::Changed { now }, now.size),
        TargetKind::BlockDevice => {
            let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0));
            (TargetOutcome::Current, size.map_err(|_| TargetOutcome::Unreadable)?)
        }
        _ => (TargetOutcome::Current, now.size),
    };
    Ok((file.into(), outcome, size))
}

/// Checks each target of a plan, as a replay would.
pub fn check_targets(plan: &PlanView<'_>) -> Vec<TargetOutcome> {
    check_targets_inside(plan, None)
}

/// As [`check_targets`], as a replay in a private view would.
pub fn check_targets_inside(plan: &PlanView<'_>, mounts: Option<&PrivateMounts>) -> Vec<TargetOutcome> {
    let check = |number| {
        let Some((path, kind)) = plan.target(number) else { return TargetOutcome::Missing };
        open_target(outside(mounts, path), kind).map_or_else(|outcome| outcome, |(_, outcome, _)| outcome)
    };
    (0..plan.target_count() as u32).map(check).collect()
}
