//! Parallel processing of files; no new file is started after a signal.

use coldstart_launch::Interrupt;
use rayon::prelude::*;

use super::gather::Task;
use crate::observer::Observer;

/// The results of processing.
#[derive(Debug)]
pub struct Passage<T> {
    /// Each processed file, in order.
    pub done: Vec<(Task, T)>,
    /// Files not started because of a signal.
    pub not_begun: u64,
}

/// Runs `work` for each file. A started file is always finished.
pub fn over_tasks<T: Send>(
    tasks: Vec<Task>,
    interrupt: &Interrupt,
    observer: &dyn Observer,
    work: impl Fn(&Task) -> T + Sync,
) -> Passage<T> {
    observer.begin(Some(tasks.len()));
    let total = tasks.len();
    // File sizes vary a lot, so an idle thread takes the next file.
    let done = tasks.into_par_iter().with_max_len(1).filter_map(|task| {
        if interrupt.signal().is_some() {
            return None;
        }
        let result = work(&task);
        observer.step();
        Some((task, result))
    });
    let done: Vec<(Task, T)> = done.collect();
    observer.end();
    let not_begun = total.saturating_sub(done.len()) as u64;
    Passage { done, not_begun }
}
