//! Waiting with a deadline.

use std::time::{Duration, Instant};

/// How long a test waits for what takes milliseconds on an idle machine. A machine may stall for many seconds.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a condition holds.
///
/// # Panics
/// After [`PATIENCE`], naming `what`.
#[track_caller]
pub fn eventually(what: &str, condition: impl FnMut() -> bool) {
    assert!(within(PATIENCE, condition), "{what} did not come about within {} s", PATIENCE.as_secs());
}

/// Whether a condition holds before `patience` is over; it is tried at least once.
pub fn within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if condition() {
            return true;
        }
        if begin.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
