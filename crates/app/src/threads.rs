//! The threads among which work is divided, where not as many can be started as there are processors.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// Little is needed to wait, and more would count against limits of memory.
const STACK: usize = 64 << 10;

/// Has the main thread do all work alone if a thread for each processor cannot be started: a limit of processes (`RLIMIT_NPROC`,
/// `pids.max` of a control group) is nearly reached, and rayon panics where it cannot start its threads. To be called in the main
/// thread before its first work.
pub fn prepare() {
    let wanted = available_parallelism().map_or(1, usize::from);
    if !can_start(wanted) {
        // This one needs no other thread. It fails if there are threads already, and then none are missing.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}

/// Whether so many threads can be started beside each other, by starting them.
fn can_start(wanted: usize) -> bool {
    let mut threads: Vec<(Sender<()>, JoinHandle<_>)> = Vec::new();
    for _ in 0..wanted {
        let (end, wait) = channel();
        match Builder::new().stack_size(STACK).spawn(move || wait.recv()) {
            Ok(thread) => threads.push((end, thread)),
            Err(_) => break,
        }
    }
    let started = threads.len();
    for (end, thread) in threads {
        drop(end);
        let _ = thread.join();
    }
    started == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_threads_can_be_started_and_not_any_number() {
        assert!(can_start(2));
        prepare();
        assert_eq!(rayon::join(|| 1, || 2), (1, 2));
    }
}
