//! Going over the files: several at a time, and no new one once a signal asked us to stop.

use coldstart_launch::Interrupt;
use rayon::prelude::*;

use super::gather::Task;
use crate::observer::Observer;

/// What was done.
#[derive(Debug)]
pub struct Passage<T> {
    /// Each file that was worked on, in order.
    pub done: Vec<(Task, T)>,
    /// Files that were not begun, because we were asked to stop.
    pub not_begun: u64,
}

/// Does `work` for each file. One that was begun is brought to its end.
pub fn over_tasks<T: Send>(
    tasks: Vec<Task>,
    interrupt: &Interrupt,
    observer: &dyn Observer,
    work: impl Fn(&Task) -> T + Sync,
) -> Passage<T> {
    observer.begin(Some(tasks.len()));
    let total = tasks.len();
    // Large files come in the middle of small ones: whoever is done takes the next.
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
