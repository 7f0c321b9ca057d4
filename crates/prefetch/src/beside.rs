//! A replay in its own process, while this one becomes the program.
//!
//! Of many starts with one plan at the same time, one replays. The others start at once where the reads go on beside the
//! program, and wait for the one that reads where they come before it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coldstart_host::mounts::is_on_root_mount;
use coldstart_profile::plan::{MOST_BYTES, PlanView};
use coldstart_sys::detached::{Starter, Wait, end_after, run_detached};
use coldstart_sys::named_file::read_and_keep;
use coldstart_sys::settled::{LOOK_INTERVAL, Settling};
use coldstart_sys::shared_work::{Turn, progress_of_other, take_turn, tell_done, tell_progress};

use crate::Replay;

/// A replay may take this many times the predicted time before the program starts without the rest.
const PATIENCE: u32 = 4;
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// A replay beside the program ends after [`PATIENCE`] times the predicted time, at the latest after this.
const LONGEST_READING: Duration = Duration::from_secs(600);

/// Pages read before the start are kept for twice the hot start's time, within these bounds, and until the program has
/// settled or ends.
const SHORTEST_HOLD: Duration = Duration::from_secs(2);
const LONGEST_HOLD: Duration = Duration::from_secs(20);

/// Starts within this time after a replay rely on it, while its program runs.
const DONE_STANDS: Duration = Duration::from_secs(2);
/// A replay tells so often that it goes on.
const TELL_INTERVAL: Duration = Duration::from_millis(50);
/// A replay of another start that does not tell for so long is not waited for: it is stopped, or hangs.
const SILENCE_LIMIT: Duration = Duration::from_secs(1);
/// How often another start's replay is looked at, at first and at most.
const LOOK_INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Replays the plan in `path` and returns when the program may start: at once, or when the steps before the start are
/// done. The rest runs beside the program and ends with it. Where the replay's process would become the program's
/// child, the rest is only queued, and the kernel continues to read.
///
/// If another start replays the same file, nothing is replayed here. If most of the plan is stale, the program starts at
/// once, and the replay ends.
///
/// The caller must have no other thread, see [`run_detached`].
///
/// # Errors
/// A sentence on why nothing is replayed: the plan cannot be read, or is invalid. The program can start all the same.
pub fn replay_beside(path: &Path) -> Result<(), String> {
    let in_words = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let (file, bytes) = read_and_keep(path, MOST_BYTES).map_err(|error| in_words(&error))?;
    let plan = PlanView::read(&bytes).map_err(|error| in_words(&error))?;
    let summary = plan.summary();
    let wait = if summary.windows_before_start == 0 { Wait::No } else { Wait::UntilReleased };
    let patience = summary.predicted_replay.saturating_mul(PATIENCE).max(SHORTEST_LIMIT);
    let limit = patience.min(LONGEST_LIMIT);
    let kept = match turn_within(&file, wait, limit) {
        Turn::Ours => Some(file),
        Turn::Underway | Turn::Done => return Ok(()),
        Turn::Unknown => None,
    };
    run_detached(wait, limit, kept, |starter| {
        allow_many_files();
        let limit = patience.min(LONGEST_READING);
        replay_in_worker(&Replay::new(plan), starter, wait == Wait::UntilReleased, limit, summary.hot_start);
    })
    .map_err(|error| format!("cannot create a process for the replay: {error}"))
}

fn replay_in_worker(
    replay: &Replay<'_>,
    starter: &mut Starter,
    is_blocking: bool,
    limit: Duration,
    hot_start: Duration,
) {
    let hold = hot_start.saturating_mul(2).clamp(SHORTEST_HOLD, LONGEST_HOLD);
    if starter.outlives_start() {
        end_after(limit + hold);
    }
    let telling = Telling::default();
    telling.tell(starter);
    if is_blocking && replay.looks_stale() {
        starter.release();
        // What cannot go on beside the program would only delay it.
        if !starter.outlives_start() {
            return;
        }
    }
    let goes_on = |starter: &Starter| {
        telling.tell_sometimes(starter);
        !starter.is_gone() && !replay.is_mostly_stale()
    };
    replay.before_start(&|| !goes_on(starter));
    if starter.is_gone() {
        return;
    }
    if !starter.outlives_start() {
        replay.queue_rest(&|| !goes_on(starter));
        return;
    }
    starter.release();
    replay.beside_program(&|| !goes_on(starter));
    if !starter.ends_with_program() {
        return;
    }
    // An open file keeps its file system mounted, as held pages do.
    match starter.kept().filter(|file| is_on_root_mount(file)) {
        Some(file) => tell_done(file),
        None => starter.drop_kept(),
    }
    if replay.holds_pages() {
        hold_until_settled(starter.program(), hold);
    } else if starter.kept().is_some() {
        std::thread::sleep(DONE_STANDS);
    }
}

/// The turn to replay. Where the program would wait for its own replay, it waits for another start's.
fn turn_within(file: &File, wait: Wait, limit: Duration) -> Turn {
    let begin = Instant::now();
    let (mut seen, mut seen_at) = (None, begin);
    loop {
        let turn = take_turn(file);
        if turn != Turn::Underway || wait == Wait::No || begin.elapsed() > limit {
            return turn;
        }
        let progress = progress_of_other(file);
        if progress != seen {
            (seen, seen_at) = (progress, Instant::now());
        } else if seen_at.elapsed() > SILENCE_LIMIT {
            return turn;
        }
        std::thread::sleep((begin.elapsed() / 16).clamp(LOOK_INTERVALS.0, LOOK_INTERVALS.1));
    }
}

/// Tells others that the replay goes on: the starter, and starts that wait for this one's replay.
struct Telling {
    begin: Instant,
    /// Number of times, and when the last was, in milliseconds.
    count: AtomicU64,
    last: AtomicU64,
}

impl Default for Telling {
    fn default() -> Self {
        Self { begin: Instant::now(), count: AtomicU64::new(0), last: AtomicU64::new(0) }
    }
}

impl Telling {
    fn tell(&self, starter: &Starter) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        starter.go_on();
        if let Some(file) = starter.kept() {
            tell_progress(file, count);
        }
    }

    fn tell_sometimes(&self, starter: &Starter) {
        let now = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.last.load(Ordering::Relaxed);
        let is_time = now.saturating_sub(last) >= TELL_INTERVAL.as_millis() as u64;
        // One of several threads.
        if is_time && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.tell(starter);
        }
    }
}

/// Lets pages be held until the program has settled, at most `longest`.
fn hold_until_settled(program: u32, longest: Duration) {
    let begin = Instant::now();
    let mut settling = Settling::of(program);
    while begin.elapsed() < longest && !settling.has_settled() {
        std::thread::sleep(LOOK_INTERVAL.min(longest));
    }
}

/// Raises this process's limit on open files to the maximum: plans of large programs have more files than the
/// usual 1,024. If that fails, files are left out.
pub fn allow_many_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}
