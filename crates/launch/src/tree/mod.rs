//! The processes of one launch: found, reaped, ended.

mod counting;
mod ending;
mod kinship;
pub(crate) mod process;
mod subreaper;

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use coldstart_host::process::own_number_shown;
use coldstart_sys::wait::reap;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};
use rustix::time::{ClockId, clock_gettime};

use self::counting::loses_children;
use self::kinship::Kinship;
use self::process::{Identity, Process, all_processes, process};
use self::subreaper::Subreaper;
use crate::launched::Usage;

/// Scans in a row that find only the dead, before that is said. A program that ends by itself takes one for each generation.
const DEAD_PASSES: usize = 20;

/// The processes of one launch. Kills them when dropped before [`Tree::end`].
#[derive(Debug)]
pub(crate) struct Tree {
    kinship: Kinship,
    status: Option<ExitStatus>,
    usage: Usage,
    /// A reaped process had ignored SIGCHLD: its children's usage is in no figure.
    lost_children: bool,
    ended: HashSet<Identity>,
    killed: HashSet<Identity>,
    /// Whether whole process groups are killed as soon as one of their processes is found.
    kills_groups: bool,
    finished: bool,
    _subreaper: Subreaper,
}

impl Tree {
    /// Records the state before a launch. `shares_group`: the program will stay in our process group. `guardian`: a child
    /// of ours that needs special treatment (see [`has_children`]).
    pub(crate) fn before_launch(shares_group: bool, guardian: Option<u32>) -> io::Result<Self> {
        let own = std::process::id();
        if own_number_shown().is_some_and(|shown| shown != *own.to_string()) {
            return Err(io::Error::other(
                "/proc shows another pid namespace than ours; mount one of this namespace (unshare --mount-proc)",
            ));
        }
        let subreaper = Subreaper::become_one()?;
        let mut earlier_children: HashSet<Identity> = if has_children() {
            all_processes()?
                .iter()
                .filter(|process| process.stat.parent == own)
                .map(|process| process.identity)
                .collect()
        } else {
            HashSet::new()
        };
        earlier_children.extend(guardian.and_then(process).map(|guardian| guardian.identity));
        // 0 where the leader is outside our pid namespace, as `unshare --pid --fork` makes it; `stat` says 0 as well.
        let (own_group, session) = process(own).map_or((0, 0), |ours| (ours.stat.group, ours.stat.session));
        let kinship = Kinship {
            own,
            foreign_group: (!shares_group).then_some(own_group),
            session,
            earlier_children,
            launched: None,
            since: ticks_since_boot(),
        };
        Ok(Self {
            kinship,
            status: None,
            usage: Usage::default(),
            lost_children: false,
            ended: HashSet::new(),
            killed: HashSet::new(),
            kills_groups: false,
            // Nothing was launched yet.
            finished: true,
            _subreaper: subreaper,
        })
    }

    /// The first process has been started.
    pub(crate) fn launched(&mut self, number: u32) {
        self.kinship.launched = Some(number);
        self.finished = false;
    }

    /// How the first process ended, if it has; reaps it.
    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        if let Some(launched) = self.kinship.launched
            && let Some(status) = self.reap(launched)?
        {
            self.kinship.launched = None;
            self.status = Some(status);
        }
        Ok(self.status)
    }

    /// Reaps a child of ours if it has ended, and adds up its usage.
    fn reap(&mut self, number: u32) -> io::Result<Option<ExitStatus>> {
        // This stays set until it is reaped. Once one was, the result is final.
        let loses_children = !self.lost_children && loses_children(number);
        let Some(reaped) = reap(number)? else { return Ok(None) };
        self.lost_children |= loses_children;
        self.usage += reaped.usage.into();
        Ok(Some(reaped.status))
    }

    /// The usage of all processes reaped so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// How many processes were sent SIGTERM.
    pub(crate) fn ended_count(&self) -> u32 {
        u32::try_from(self.ended.len()).unwrap_or(u32::MAX)
    }

    /// How many processes were sent SIGKILL.
    pub(crate) fn killed_count(&self) -> u32 {
        u32::try_from(self.killed.len()).unwrap_or(u32::MAX)
    }

    /// Whether any process of the launch may still be alive. Reaps those that are not.
    pub(crate) fn is_alive(&mut self) -> io::Result<bool> {
        Ok(self.living()?.is_some())
    }

    /// Whether a process belongs to the launch, alive or not yet reaped.
    pub(crate) fn has_member(&self, number: u32) -> bool {
        // Its ancestors up to us are enough of the table.
        let mut line: Vec<Process> = Vec::new();
        let mut next = Some(number);
        while let Some(found) = next.and_then(process) {
            // A reused PID could make a cycle.
            let is_ring = line.iter().any(|known| known.identity.number == found.identity.number);
            next = (found.stat.parent != self.kinship.own && !is_ring).then_some(found.stat.parent);
            line.push(found);
        }
        self.kinship.members(&line).iter().any(|member| member.identity.number == number)
    }

    /// The living processes of the launch, after reaping the dead; `None` if nothing is left.
    ///
    /// Nothing is left when none lives and none was to be reaped: a living process always has one of our children above it. If
    /// all that are found are dead we scan again, because their children are reparented to us. Of a tree that goes on forking, a
    /// slow machine may find only the dead each time: then there is an empty list, and the caller decides how long to go on.
    fn living(&mut self) -> io::Result<Option<Vec<Process>>> {
        for _ in 0..DEAD_PASSES {
            if !has_children() {
                self.kinship.launched = None;
                return Ok(None);
            }
            let table = all_processes()?;
            if self.kills_groups {
                // Before any of them is reaped.
                self.kinship.own_groups(&table).into_iter().for_each(kill_group);
            }
            let ended: Vec<Identity> =
                self.kinship.roots(&table).filter(|root| root.stat.has_ended()).map(|root| root.identity).collect();
            let mut reaped = false;
            for identity in ended {
                reaped |= self.reap_root(identity)?;
            }
            let mut members = self.kinship.members(&table);
            members.retain(|member| !member.stat.has_ended());
            if !members.is_empty() {
                return Ok(Some(members));
            }
            if !reaped {
                return Ok(None);
            }
        }
        Ok(Some(Vec::new()))
    }

    fn reap_root(&mut self, identity: Identity) -> io::Result<bool> {
        if self.kinship.launched == Some(identity.number) {
            return Ok(self.status()?.is_some());
        }
        let status = self.reap(identity.number)?;
        if self.kills_groups && status.is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw())) {
            self.killed.insert(identity);
        }
        Ok(status.is_some())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.finished {
            // An error or a panic is already being handled; another cannot be reported.
            let _ = self.end(Duration::ZERO, None, &mut || {});
        }
    }
}

/// Whether we have any child except guardians, zombies included; the cheapest check.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

/// The unit and origin of the start times in `/proc/PID/stat`.
fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let per_second = rustix::param::clock_ticks_per_second();
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds * per_second + nanoseconds * per_second / 1_000_000_000
}

/// A pidfd of exactly this process; `None` if it has ended.
fn handle(identity: Identity) -> Option<OwnedFd> {
    let number = Pid::from_raw(i32::try_from(identity.number).ok()?)?;
    let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
    // The PID may have been reused before the opening; from here on it cannot be.
    (process(identity.number)?.identity == identity).then_some(handle)
}

/// Kills all processes of a group at once: none of them can start another that survives, since the kernel checks for
/// signals before a fork adds a process to the group (`copy_process` in `kernel/fork.c`).
fn kill_group(group: u32) {
    if let Some(group) = i32::try_from(group).ok().filter(|group| *group > 1).and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Sends a signal to exactly this process. A process that has ended, or that we may not signal, is left to the caller's
/// next scan.
fn send(identity: Identity, signal: Signal) {
    if let Some(handle) = handle(identity) {
        let _ = pidfd_send_signal(handle, signal);
    }
}
