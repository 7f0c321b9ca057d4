//! A replay in its own process, while this one becomes the program.

use std::path::Path;
use std::time::Duration;

use coldstart_profile::plan::{MOST_BYTES, PlanView};
use coldstart_sys::detached::{Wait, run_detached};
use coldstart_sys::named_file::read_regular;

use crate::Replay;

/// A replay may take this many times the predicted time before the program starts without the rest.
const PATIENCE: u32 = 4;
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);
const LONGEST_LIMIT: Duration = Duration::from_secs(60);

/// Pages read before the start are kept for twice the hot start's time, within these bounds, and until the program ends.
const SHORTEST_HOLD: Duration = Duration::from_secs(2);
const LONGEST_HOLD: Duration = Duration::from_secs(20);

/// Replays the plan in `path` and returns when the program may start: at once, or when the steps before the start are
/// done. The rest runs beside the program and ends with it. Where the replay's process would become the program's
/// child, the rest is only queued, and the kernel continues to read.
///
/// The caller must have no other thread, see [`run_detached`].
///
/// # Errors
/// A sentence on why nothing is replayed: the plan cannot be read, or is invalid. The program can start all the same.
pub fn replay_beside(path: &Path) -> Result<(), String> {
    let bytes = read_regular(path, MOST_BYTES).map_err(|error| format!("{}: {error}", path.display()))?;
    let plan = PlanView::read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let wait = match plan.summary().windows_before_start {
        0 => Wait::No,
        _ => Wait::UntilReleased,
    };
    let limit = plan.summary().predicted_replay.saturating_mul(PATIENCE).clamp(SHORTEST_LIMIT, LONGEST_LIMIT);
    run_detached(wait, limit, |starter| {
        allow_many_files();
        let replay = Replay::new(plan);
        replay.before_start(&|| starter.is_gone());
        if starter.is_gone() {
            return;
        }
        if !starter.outlives_start() {
            replay.queue_rest(&|| starter.is_gone());
            return;
        }
        starter.release();
        replay.beside_program();
        // A mapping keeps the file's file system mounted, so it must not outlive the program.
        if replay.holds_pages() && starter.ends_with_program() {
            let until_used = plan.summary().hot_start.saturating_mul(2).clamp(SHORTEST_HOLD, LONGEST_HOLD);
            std::thread::sleep(until_used);
        }
    })
    .map_err(|error| format!("cannot create a process for the replay: {error}"))
}

/// Raises this process's limit on open files to the maximum: plans of large programs have more files than the
/// usual 1,024. If that fails, files are left out.
pub fn allow_many_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}
