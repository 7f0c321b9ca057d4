//! A second thread beside the one that resolves names.
//!
//! A name may lead to a FUSE file system whose server belongs to the observed program: to be resolved, it needs the server, and the server may be
//! waiting in a call of its own, for us. So when a name takes long, this thread lets the calls that come meanwhile go on; they are
//! resolved later.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use coldstart_sys::syscall_observer::{FileNameCall, SyscallObserver};

use crate::TraceError;

/// How long a name may take before its thread counts as stuck. On a disk, a look-up takes some 10 ms; while nothing is resolved,
/// names are less exact.
const LONG: Duration = Duration::from_millis(250);
/// Interval of looks, and longest wait for a call while the other thread is stuck, in milliseconds.
const INTERVAL: u16 = 20;

/// A call, and when it was made (`CLOCK_MONOTONIC`).
type TimedCall = (FileNameCall, Duration);

#[derive(Debug, Default)]
struct Shared {
    /// When the thread that resolves names began with one.
    busy_since: Option<Instant>,
    /// Calls that were let go on meanwhile.
    late: Vec<TimedCall>,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Relief {
    shared: Mutex<Shared>,
    ending: Condvar,
}

/// Passes each call to `note` while its caller is stopped, or later if another call takes long, until the last watched process has ended.
///
/// # Errors
/// [`TraceError::Names`] when the kernel refuses the observation.
pub(crate) fn for_each_call(
    observer: &SyscallObserver,
    note: &mut dyn FnMut(&FileNameCall, Duration),
) -> Result<(), TraceError> {
    let relief = Relief::default();
    let followed = std::thread::scope(|scope| {
        // Without the thread all is well but for programs that serve files to themselves.
        let _ = std::thread::Builder::new().name("relief".to_owned()).spawn_scoped(scope, || relief.serve(observer));
        let _ends = Ends(&relief);
        loop {
            let mut noted = |call: &FileNameCall, at| {
                relief.lock().busy_since = Some(Instant::now());
                note(call, at);
                relief.lock().busy_since = None;
            };
            let more = observer
                .next(&mut |call| noted(&call, crate::working_set::monotonic_now()))
                .map_err(|source| TraceError::Names { source })?;
            let late = std::mem::take(&mut relief.lock().late);
            late.iter().for_each(|(call, at)| noted(call, *at));
            if !more {
                return Ok(());
            }
        }
    });
    relief.lock().late.iter().for_each(|(call, at)| note(call, *at));
    followed
}

impl Relief {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, observer: &SyscallObserver) {
        loop {
            let is_stuck = {
                let interval = Duration::from_millis(INTERVAL.into());
                let waited = self.ending.wait_timeout_while(self.lock(), interval, |shared| !shared.has_ended);
                let (shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if shared.has_ended {
                    return;
                }
                shared.busy_since.is_some_and(|since| since.elapsed() >= LONG)
            };
            while is_stuck && self.lock().busy_since.is_some() {
                let mut keep = |call| self.lock().late.push((call, crate::working_set::monotonic_now()));
                // The other thread meets the same error, and reports it.
                if observer.next_within(INTERVAL, &mut keep).is_err() {
                    return;
                }
            }
        }
    }
}

/// Ends the other thread, also when a panic unwinds.
struct Ends<'a>(&'a Relief);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.ending.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use coldstart_sys::syscall_observer::observe;
    use coldstart_testing::eventually;

    use super::*;

    #[test]
    fn a_name_that_waits_for_another_call_does_not_stop_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let (done, after) = (directory.path().join("done"), directory.path().join("after"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "test -e /no/such/file & touch \"$0\"; wait; test -e \"$1\""]).args([&done, &after]);
        let pending = observe(&mut command).unwrap();
        let until = done.clone();
        let follower = std::thread::spawn(move || {
            let mut names = Vec::new();
            let observer = pending.accept().unwrap();
            for_each_call(&observer, &mut |call, _| {
                if call.name == "/no/such/file" {
                    eventually("the call of the other process goes on", || until.exists());
                }
                names.push(call.name.clone());
            })
            .unwrap();
            names
        });
        command.status().unwrap();
        drop(command);
        let names = follower.join().unwrap();
        for name in ["/no/such/file".as_ref(), done.as_os_str(), after.as_os_str()] {
            assert!(names.iter().any(|found| found == name), "{name:?} in {names:?}");
        }
    }
}
