//! Ending a process tree completely: SIGTERM, wait, freeze, kill, reap, check again.
//!
//! Killing one process after another fails against a program that keeps forking. So the tree is frozen
//! first: a stopped process cannot fork, and once a scan of the whole tree finds no new process, all are killed at once.
//!
//! A process that forks and ends at once is gone before a scan finds it. Its process group is not: groups that belong
//! to the launch alone are killed by one signal.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::process::Process;
use super::{Tree, handle, send};
use crate::error::LaunchError;
use crate::interrupt::Interrupt;

/// Interval of scans while the tree ends. A scan reads all of `/proc`: some 10 us a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Time limit after SIGKILL: a process in uninterruptible sleep dies when its I/O is done.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// A tree that forks faster than it can be frozen is killed as far as known, and then scanned again.
const FREEZE_PASSES: usize = 50;

impl Tree {
    /// Ends and reaps every process of the launch.
    ///
    /// Each gets SIGTERM, then has `grace` to end by itself; a signal recorded by `interrupt` in that time cuts it short.
    /// `meanwhile` is called repeatedly while we wait.
    ///
    /// # Errors
    /// [`LaunchError::NotEnded`] when processes stay after SIGKILL, [`LaunchError::System`] when `/proc` cannot be read.
    pub(crate) fn end(
        &mut self,
        grace: Duration,
        interrupt: Option<&Interrupt>,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), LaunchError> {
        // A failure from here on would repeat: the guard must not retry.
        self.finished = true;
        if !grace.is_zero() {
            self.ask(grace, interrupt, meanwhile)?;
        }
        self.kill(meanwhile)
    }

    fn ask(
        &mut self,
        grace: Duration,
        interrupt: Option<&Interrupt>,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), LaunchError> {
        let mut deadline: Option<Instant> = None;
        if let Some(interrupt) = interrupt {
            interrupt.drain();
        }
        loop {
            let Some(living) = self.look()? else { return Ok(()) };
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(());
            }
            for member in &living {
                // Including those started since the last scan.
                if self.ended.insert(member.identity) {
                    send(member.identity, Signal::TERM);
                }
                // It sees the signal only when it runs. For a process without its first thread, the state is meaningless.
                if matches!(member.stat.state, b'T' | b'Z') {
                    send(member.identity, Signal::CONT);
                }
            }
            // The first scan may take longer than the grace on a busy machine, so the grace begins when they have been asked.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + grace);
            let left = deadline.saturating_duration_since(Instant::now());
            if wait(&living, left.min(LOOK_INTERVAL), interrupt) {
                return Ok(());
            }
            meanwhile();
        }
    }

    fn kill(&mut self, meanwhile: &mut dyn FnMut()) -> Result<(), LaunchError> {
        let mut deadline = None;
        self.kills_groups = true;
        loop {
            // On a busy machine this alone may take as long as the limit, which therefore starts with the first SIGKILL.
            let Some(living) = self.freeze()? else { return Ok(()) };
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline) && !living.is_empty();
            if is_late && living.iter().all(|member| self.killed.contains(&member.identity)) {
                let mut processes: Vec<u32> = living.iter().map(|member| member.identity.number).collect();
                processes.sort_unstable();
                return Err(LaunchError::NotEnded { processes, seconds: KILL_LIMIT.as_secs() });
            }
            for member in &living {
                self.killed.insert(member.identity);
                send(member.identity, Signal::KILL);
            }
            if !living.is_empty() {
                deadline.get_or_insert_with(|| Instant::now() + KILL_LIMIT);
            }
            wait(&living, LOOK_INTERVAL, None);
            meanwhile();
        }
    }

    /// Stops the whole tree; returns all processes of the last scan, `None` if nothing is left.
    fn freeze(&mut self) -> Result<Option<Vec<Process>>, LaunchError> {
        let mut frozen = HashSet::new();
        for _ in 0..FREEZE_PASSES {
            let Some(living) = self.look()? else { return Ok(None) };
            let known = frozen.len();
            for member in &living {
                if frozen.insert(member.identity) {
                    send(member.identity, Signal::STOP);
                }
            }
            if frozen.len() == known {
                return Ok(Some(living));
            }
        }
        self.look()
    }

    fn look(&mut self) -> Result<Option<Vec<Process>>, LaunchError> {
        self.living().map_err(|error| LaunchError::system("look for the program's processes", error))
    }
}

/// Waits until one of the processes ends, at most `limit`. True if a signal to us came first.
fn wait(living: &[Process], limit: Duration, interrupt: Option<&Interrupt>) -> bool {
    let handles: Vec<OwnedFd> = living.iter().filter_map(|member| handle(member.identity)).collect();
    let mut polled: Vec<PollFd<'_>> = handles.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
    if let Some(interrupt) = interrupt {
        polled.push(PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN));
    }
    let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
    // Errors (EINTR) only make us check earlier.
    let _ = poll(&mut polled, Some(&limit));
    interrupt.is_some() && polled.last().is_some_and(|last| !last.revents().is_empty())
}
