//! A replay in a process of its own, while this one goes on to become the program.

use std::path::Path;
use std::time::Duration;

use coldstart_profile::plan::{MOST_BYTES, PlanView};
use coldstart_sys::detached::{Wait, run_detached};
use coldstart_sys::named_file::read_regular;

use crate::Replay;

/// How many times the predicted time a replay may take before the program starts without the rest of it.
const PATIENCE: u32 = 4;
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);
const LONGEST_LIMIT: Duration = Duration::from_secs(60);

/// Pages read before the program starts are kept for twice its hot start, within these bounds, and no longer than it runs.
const SHORTEST_HOLD: Duration = Duration::from_secs(2);
const LONGEST_HOLD: Duration = Duration::from_secs(20);

/// Replays the plan in `path` and returns when the program may start: at once, or when what the plan wants done before is
/// done. The rest goes on beside the program and ends with it. Where the program would get the replay's process as a child
/// of its own, the rest is only asked for, and the kernel goes on reading.
///
/// The caller must have no other thread, see [`run_detached`].
///
/// # Errors
/// A sentence on why nothing is replayed: the plan cannot be read, or does not hold. The program can start all the same.
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
        // A mapping keeps the file's file system mounted, so it must not be there longer than the program.
        if replay.holds_pages() && starter.ends_with_program() {
            let until_used = plan.summary().hot_start.saturating_mul(2).clamp(SHORTEST_HOLD, LONGEST_HOLD);
            std::thread::sleep(until_used);
        }
    })
    .map_err(|error| format!("cannot make a process for the replay: {error}"))
}

/// Raises this process's limit on open files to what it may have: plans of large programs hold more files than the
/// usual 1,024. A limit that cannot be raised only leaves files out.
pub fn allow_many_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}
