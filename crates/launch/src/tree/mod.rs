//! The processes of one launch: found, reaped, ended.

mod ending;
mod kinship;
pub(crate) mod process;
mod subreaper;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fs, io};

use coldstart_sys::wait::reap;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use rustix::time::{ClockId, clock_gettime};

use self::kinship::Kinship;
use self::process::{Identity, Process, all_processes, process};
use self::subreaper::Subreaper;
use crate::launched::Usage;

/// The processes of one launch. Ends them by force when dropped before [`Tree::end`] has.
#[derive(Debug)]
pub(crate) struct Tree {
    kinship: Kinship,
    status: Option<ExitStatus>,
    usage: Usage,
    ended: HashSet<Identity>,
    killed: HashSet<Identity>,
    finished: bool,
    _subreaper: Subreaper,
}

impl Tree {
    /// Notes what is there before a launch. `shares_group`: the program will stay in our process group.
    pub(crate) fn before_launch(shares_group: bool) -> io::Result<Self> {
        let own = std::process::id();
        if fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() != OsStr::new(&own.to_string())) {
            return Err(io::Error::other(
                "/proc shows another pid namespace than ours; mount one of this namespace (unshare --mount-proc)",
            ));
        }
        let subreaper = Subreaper::become_one()?;
        let earlier_children = if has_children() {
            all_processes()?.iter().filter(|process| process.parent == own).map(|process| process.identity).collect()
        } else {
            HashSet::new()
        };
        // 0 where the group's leader is outside our pid namespace, as `unshare --pid --fork` makes it; `stat` says 0 as well.
        let own_group = process(own).map_or(0, |ours| ours.group);
        let kinship = Kinship {
            own,
            foreign_group: (!shares_group).then_some(own_group),
            earlier_children,
            launched: None,
            since: ticks_since_boot(),
        };
        Ok(Self {
            kinship,
            status: None,
            usage: Usage::default(),
            ended: HashSet::new(),
            killed: HashSet::new(),
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
            && let Some(reaped) = reap(launched)?
        {
            self.kinship.launched = None;
            self.status = Some(reaped.status);
            self.usage += reaped.usage.into();
        }
        Ok(self.status)
    }

    /// What the processes reaped so far used.
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

    /// Whether any process of the launch is still alive. Reaps those that are not.
    pub(crate) fn is_alive(&mut self) -> io::Result<bool> {
        Ok(!self.living()?.is_empty())
    }

    /// Whether the process with this number belongs to the launch, alive or not yet reaped.
    pub(crate) fn has_member(&self, number: u32) -> bool {
        // Its ancestors up to us are enough of the table.
        let mut line: Vec<Process> = Vec::new();
        let mut next = Some(number);
        while let Some(found) = next.and_then(process) {
            // A number reused meanwhile could make a ring.
            let is_ring = line.iter().any(|known| known.identity.number == found.identity.number);
            next = (found.parent != self.kinship.own && !is_ring).then_some(found.parent);
            line.push(found);
        }
        self.kinship.members(&line).iter().any(|member| member.identity.number == number)
    }

    /// The living processes of the launch, after reaping the dead.
    ///
    /// Empty means that nothing is left: a living process always has one of our children above it, and as long as there
    /// was one to reap we look again, for its children have come to us meanwhile.
    fn living(&mut self) -> io::Result<Vec<Process>> {
        loop {
            if !has_children() {
                self.kinship.launched = None;
                return Ok(Vec::new());
            }
            let table = all_processes()?;
            let zombies: Vec<u32> =
                self.kinship.roots(&table).filter(|root| root.is_zombie()).map(|root| root.identity.number).collect();
            let mut reaped = false;
            for number in zombies {
                reaped |= self.reap_root(number)?;
            }
            if !reaped {
                let mut members = self.kinship.members(&table);
                members.retain(|member| !member.is_zombie());
                return Ok(members);
            }
        }
    }

    fn reap_root(&mut self, number: u32) -> io::Result<bool> {
        if self.kinship.launched == Some(number) {
            return Ok(self.status()?.is_some());
        }
        // `None`: a zombie leader whose other threads still run; it can be reaped when they are done.
        let Some(reaped) = reap(number)? else { return Ok(false) };
        self.usage += reaped.usage.into();
        Ok(true)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.finished {
            // An error or a panic is under way already; there is nobody to tell of another.
            let _ = self.end(Duration::ZERO, None, &mut || {});
        }
    }
}

/// Whether we have any child at all, zombies included; the question that costs least.
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

/// A handle on exactly this process; `None` if it is gone.
fn handle(identity: Identity) -> Option<OwnedFd> {
    let number = Pid::from_raw(i32::try_from(identity.number).ok()?)?;
    let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
    // The number may have been given away between our look at it and the opening; from here on it cannot.
    (process(identity.number)?.identity == identity).then_some(handle)
}

/// Sends a signal to exactly this process. A process that is gone, or that we may not signal, is left to the caller's
/// next look.
fn send(identity: Identity, signal: Signal) {
    if let Some(handle) = handle(identity) {
        let _ = pidfd_send_signal(handle, signal);
    }
}
