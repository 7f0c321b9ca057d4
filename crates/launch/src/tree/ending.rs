//! Ending a process tree so that nothing is left: ask, wait, freeze, kill, reap, look again.
//!
//! Killing one process after another loses against a program that starts new ones in between. So the tree is frozen
//! first: a stopped process cannot fork, and once a look at the whole tree finds nobody new, all are killed at once.
//!
//! A process that forks and ends at once is gone before a look has got to it. Its process group is not: of groups that are
//! the launch's alone, one signal kills all at the same instant.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::process::Process;
use super::{Tree, handle, send};
use crate::error::LaunchError;
use crate::interrupt::Interrupt;

/// How often the tree is looked at while it ends. A look reads all of `/proc`: some 10 us a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// How long after SIGKILL a process may stay: one in uninterruptible sleep dies when its I/O is done.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// A tree that forks faster than it can be frozen is killed as far as it is known, and then looked at again.
const FREEZE_PASSES: usize = 50;

impl Tree {
    /// Ends and reaps every process of the launch.
    ///
    /// Each gets SIGTERM, then has `grace` to end by itself; a signal noted by `interrupt` in that time cuts it short.
    /// `meanwhile` is called again and again while we wait.
    ///
    /// # Errors
    /// [`LaunchError::NotEnded`] when processes stay after SIGKILL, [`LaunchError::System`] when `/proc` cannot be read.
    pub(crate) fn end(
        &mut self,
        grace: Duration,
        interrupt: Option<&Interrupt>,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), LaunchError> {
        // What fails from here on would fail again: the guard must not repeat it.
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
        let deadline = Instant::now() + grace;
        if let Some(interrupt) = interrupt {
            interrupt.drain();
        }
        loop {
            let living = self.look()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if living.is_empty() || left.is_zero() {
                return Ok(());
            }
            for member in &living {
                // Those started since the last look are asked too.
                if self.ended.insert(member.identity) {
                    send(member.identity, Signal::TERM);
                }
                // It will only see the signal when it runs. Of a process without its first thread, the state does not say.
                if matches!(member.stat.state, b'T' | b'Z') {
                    send(member.identity, Signal::CONT);
                }
            }
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
            // On a busy machine this alone may take as long as the limit, which therefore begins with the first SIGKILL.
            let living = self.freeze()?;
            if living.is_empty() {
                return Ok(());
            }
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if is_late && living.iter().all(|member| self.killed.contains(&member.identity)) {
                let mut processes: Vec<u32> = living.iter().map(|member| member.identity.number).collect();
                processes.sort_unstable();
                return Err(LaunchError::NotEnded { processes, seconds: KILL_LIMIT.as_secs() });
            }
            for member in &living {
                self.killed.insert(member.identity);
                send(member.identity, Signal::KILL);
            }
            deadline.get_or_insert_with(|| Instant::now() + KILL_LIMIT);
            wait(&living, LOOK_INTERVAL, None);
            meanwhile();
        }
    }

    /// Stops the whole tree; returns all who were in it at the last look.
    fn freeze(&mut self) -> Result<Vec<Process>, LaunchError> {
        let mut frozen = HashSet::new();
        for _ in 0..FREEZE_PASSES {
            let living = self.look()?;
            let known = frozen.len();
            for member in &living {
                if frozen.insert(member.identity) {
                    send(member.identity, Signal::STOP);
                }
            }
            if frozen.len() == known {
                return Ok(living);
            }
        }
        self.look()
    }

    fn look(&mut self) -> Result<Vec<Process>, LaunchError> {
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
    // Errors (EINTR) only make us look earlier.
    let _ = poll(&mut polled, Some(&limit));
    interrupt.is_some() && polled.last().is_some_and(|last| !last.revents().is_empty())
}
