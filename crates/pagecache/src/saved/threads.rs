//! A work list for several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` for each item, roughly in order; fewer threads only make it
/// slower. At most 64 `threads` are started.
pub(super) fn each<T: Sync>(items: &[T], threads: usize, work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, 64).min(items.len()) {
            let _ = thread::Builder::new().spawn_scoped(scope, take);
        }
        take();
    });
}

/// The same, with a result for each item, in the order of the items.
pub(super) fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let pairs: Vec<(&T, &Mutex<Option<R>>)> = items.iter().zip(&results).collect();
    each(&pairs, threads, |(item, result)| {
        let done = work(item);
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    });
    results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_in_order() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [0, 1, 8, 1000] {
            assert_eq!(map(&items, threads, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(map(&[], 8, |item: &u32| *item).is_empty());
    }
}
