//! Going over the files: several at a time, and no new one once a signal asked us to stop.

use std::path::Path;

use coldstart_launch::Interrupt;
use rayon::prelude::*;

use super::gather::Task;
use super::outcome::Refused;
use crate::commands::progress::Progress;
use crate::error::Complaints;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, escaped, plain};
use crate::output::{self, style};

/// What was done.
pub(in super::super) struct Passage<T> {
    /// Each file that was worked on, in order.
    pub(in super::super) done: Vec<(Task, T)>,
    /// Files that were not begun, because we were asked to stop.
    pub(in super::super) not_begun: u64,
}

/// Does `work` for each file. One that was begun is brought to its end.
pub(in super::super) fn over_tasks<T: Send>(
    tasks: Vec<Task>,
    interrupt: &Interrupt,
    work: impl Fn(&Task) -> T + Sync,
) -> Passage<T> {
    let progress = Progress::of(tasks.len());
    let total = tasks.len();
    // Large files come in the middle of small ones: whoever is done takes the next.
    let done = tasks.into_par_iter().with_max_len(1).filter_map(|task| {
        if interrupt.signal().is_some() {
            return None;
        }
        let result = work(&task);
        progress.step();
        Some((task, result))
    });
    let done: Vec<(Task, T)> = done.collect();
    progress.finish();
    let not_begun = total.saturating_sub(done.len()) as u64;
    Passage { done, not_begun }
}

/// Says why a file that was named is left as it is.
pub(in super::super) fn complain_refused(verb: &str, path: &Path, refused: &Refused) {
    let reason = escaped(&refused.reason);
    output::complain(&style::ERROR, "error", &format!("cannot {verb} `{}`: {reason}", printable(path)));
    if let Some(hint) = &refused.hint {
        output::hint(&escaped(hint));
    }
}

/// Prints what is left to say, and tells what to exit with.
pub(in super::super) fn finish(complaints: Complaints, refused: Exit, interrupt: &Interrupt, not_begun: u64) -> Exit {
    let exit = complaints.finish().worse(refused);
    if interrupt.signal().is_none() {
        return exit;
    }
    output::note(&plain(&format!(
        "stopped by a signal: {} not begun, all others are whole",
        counted(not_begun, "file")
    )));
    exit.worse(Exit::Interrupted)
}
