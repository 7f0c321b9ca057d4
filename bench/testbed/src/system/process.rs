//! Processes by identity, so that a signal never reaches a stranger.
//!
//! A pid alone says little after a while: it may have been given anew. With the start time beside it, it names one process
//! for as long as the machine is up; and a pidfd keeps that true between looking and signalling.

use std::time::{Duration, Instant};

use coldstart_host::process::{ProcessFiles, Stat};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// One process of this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    started: u64,
}

impl ProcessIdentity {
    /// The process that has `pid` now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, started: stat.started })
    }

    /// Whether it exists and is not merely waiting to be reaped.
    pub(crate) fn exists(&self) -> bool {
        self.stat().is_some_and(|stat| !stat.first_thread_has_ended())
    }

    /// Whether it exists and is not stopped.
    pub(crate) fn is_running(&self) -> bool {
        self.exists() && !self.stat().is_some_and(|stat| matches!(stat.state, b'T' | b't'))
    }

    /// Ends it at once and waits until it is gone, or `patience` is over.
    pub(crate) fn kill(&self, patience: Duration) {
        self.signal(Signal::KILL);
        wait_until(patience, || !self.exists());
    }

    fn stat(&self) -> Option<Stat> {
        stat(self.pid).filter(|stat| stat.started == self.started)
    }

    fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        // The descriptor holds one process from here on; now see that it is the right one.
        if self.exists() {
            // It may end by itself at this very moment, which is what was wanted.
            let _ = pidfd_send_signal(descriptor, signal);
        }
    }
}

/// Asks all to end, and ends those that do not within two seconds.
pub(crate) fn end_all<'a>(processes: impl Iterator<Item = &'a ProcessIdentity>) {
    let processes: Vec<_> = processes.collect();
    for process in &processes {
        process.signal(Signal::TERM);
    }
    wait_until(Duration::from_secs(2), || processes.iter().all(|process| !process.exists()));
    for process in &processes {
        process.signal(Signal::KILL);
    }
    wait_until(Duration::from_secs(2), || processes.iter().all(|process| !process.exists()));
}

/// Polls `condition` for at most `patience`; whether it came true.
pub(crate) fn wait_until(patience: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn stat(pid: i32) -> Option<Stat> {
    ProcessFiles::of(u32::try_from(pid).ok()?).stat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_while_it_lives_and_not_afterwards() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let identity = ProcessIdentity::of(child.id().cast_signed()).unwrap();
        assert!(identity.is_running());
        identity.signal(Signal::STOP);
        assert!(wait_until(Duration::from_secs(60), || !identity.is_running()));
        assert!(identity.exists());
        identity.kill(Duration::from_secs(60));
        assert!(!identity.exists());
        child.wait().unwrap();
    }

    #[test]
    fn another_process_with_the_same_pid_is_not_signalled() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let right = ProcessIdentity::of(child.id().cast_signed()).unwrap();
        let stranger = ProcessIdentity { started: right.started + 1, ..right.clone() };
        stranger.kill(Duration::ZERO);
        assert!(!stranger.exists());
        assert!(right.is_running());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
