//! Waiting until the machine has nothing else to do: no load, no waiting for disks, no package manager at work.

use std::path::Path;
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
/// Time between two looks at `cancelled`.
const SLICE: Duration = Duration::from_millis(100);
/// An upgrade goes on while the package manager's database changes again within this time.
const QUIET: Duration = Duration::from_secs(10);

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleWait {
    /// The machine is idle.
    Idle,
    /// It was busy all the time.
    StillBusy,
}

/// Waits until the machine is idle, at most for `longest`. `cancelled` ends it early, as busy.
///
/// What the kernel does not tell counts as idle.
pub(super) fn wait_until_idle(longest: Duration, cancelled: &dyn Fn() -> bool) -> IdleWait {
    wait_until(longest, cancelled, &is_idle)
}

fn wait_until(longest: Duration, cancelled: &dyn Fn() -> bool, is_idle: &dyn Fn() -> bool) -> IdleWait {
    let begin = Instant::now();
    let mut looked: Option<Instant> = None;
    loop {
        if looked.is_none_or(|looked| looked.elapsed() >= INTERVAL) {
            if is_idle() {
                return IdleWait::Idle;
            }
            looked = Some(Instant::now());
        }
        let left = longest.saturating_sub(begin.elapsed());
        if left.is_zero() || cancelled() {
            return IdleWait::StillBusy;
        }
        thread::sleep(left.min(SLICE));
    }
}

fn is_idle() -> bool {
    let processors = thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    let load = std::fs::read(machine::LOAD).ok().and_then(|load| machine::load_average(&load));
    load.is_none_or(|load| load <= LOAD * processors)
        && pressure::now(pressure::DISK).is_none_or(|share| share <= DISK_PRESSURE)
        && !is_upgrading(Path::new("/"))
}

/// Whether a package manager is at work. Others than root cannot see dpkg's lock, so a database that has just changed counts, too.
fn is_upgrading(root: &Path) -> bool {
    let has_just_changed = |database: &std::path::PathBuf| {
        let modified = database.metadata().and_then(|found| found.modified()).ok();
        // One from the future tells nothing.
        modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|ago| ago < QUIET)
    };
    coldstart_packages::is_at_work(root) || coldstart_packages::databases(root).iter().any(has_just_changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    #[test]
    fn a_wait_ends_in_any_case() {
        assert_eq!(wait_until(Duration::ZERO, &|| false, &|| false), IdleWait::StillBusy);
        assert_eq!(wait_until(Duration::MAX, &|| true, &|| false), IdleWait::StillBusy);
        assert_eq!(wait_until(Duration::ZERO, &|| true, &|| true), IdleWait::Idle);
    }

    #[test]
    fn an_upgrade_lasts_until_the_database_is_quiet() {
        let root = tempfile::tempdir().unwrap();
        assert!(!is_upgrading(root.path()));
        std::fs::create_dir_all(root.path().join("var/lib/dpkg")).unwrap();
        let status = File::create(root.path().join("var/lib/dpkg/status")).unwrap();
        assert!(is_upgrading(root.path()));
        for (modified, expected) in [
            (SystemTime::now() - Duration::from_secs(3600), false),
            (SystemTime::now() + Duration::from_secs(3600), false),
        ] {
            status.set_modified(modified).unwrap();
            assert_eq!(is_upgrading(root.path()), expected);
        }
    }
}
