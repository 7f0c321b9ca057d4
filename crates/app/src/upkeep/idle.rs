//! Waiting until the machine has nothing else to do.

use std::thread;
use std::time::{Duration, Instant};

use coldstart_host::{machine, pressure};
use serde::Serialize;

/// Runnable processes per processor up to which the machine counts as idle.
const LOAD: f64 = 0.5;
/// Percent of the last 10 seconds in which a task may have waited for a disk.
const DISK_PRESSURE: f64 = 5.0;
/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(5);

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleWait {
    /// The machine is idle.
    Idle,
    /// It was busy all the time.
    StillBusy,
}

/// Waits until load and disk are low, at most for `longest`. `cancelled` ends it early, as busy.
///
/// What the kernel does not tell counts as idle.
pub fn wait_until_idle(longest: Duration, cancelled: &dyn Fn() -> bool) -> IdleWait {
    wait_until(longest, cancelled, &is_idle)
}

fn wait_until(longest: Duration, cancelled: &dyn Fn() -> bool, is_idle: &dyn Fn() -> bool) -> IdleWait {
    let begin = Instant::now();
    loop {
        if is_idle() {
            return IdleWait::Idle;
        }
        let left = longest.saturating_sub(begin.elapsed());
        if left.is_zero() || cancelled() {
            return IdleWait::StillBusy;
        }
        thread::sleep(left.min(INTERVAL));
    }
}

fn is_idle() -> bool {
    let processors = thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    let load = std::fs::read(machine::LOAD).ok().and_then(|load| machine::load_average(&load));
    load.is_none_or(|load| load <= LOAD * processors)
        && pressure::now(pressure::DISK).is_none_or(|share| share <= DISK_PRESSURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_in_any_case() {
        assert_eq!(wait_until(Duration::ZERO, &|| false, &|| false), IdleWait::StillBusy);
        assert_eq!(wait_until(Duration::MAX, &|| true, &|| false), IdleWait::StillBusy);
        assert_eq!(wait_until(Duration::ZERO, &|| true, &|| true), IdleWait::Idle);
    }
}
