//! The counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;

use super::failed_names::FailedName;
use super::numbers::CallName;

/// The system calls of one start.
#[derive(Clone, Debug)]
pub struct SyscallCounts {
    /// The executed file, as found in `PATH`.
    pub program: PathBuf,
    /// Calls of all processes, beginning with the first `execve`.
    pub tree: CallTable,
    /// Those of the first process alone: all its threads, and all its programs after `execve`.
    pub first_process: CallTable,
    /// File-name calls that failed, in the order of return.
    pub failed_names: Vec<FailedName>,
    /// Number of further failures, beyond [`CountOptions::most_failed_names`](super::CountOptions::most_failed_names).
    pub failed_names_left_out: u64,
    /// Processes, the first one included.
    pub processes: u64,
    /// Threads, the first one of each process included.
    pub threads: u64,
    /// Successful `execve` calls, the first one included.
    pub programs: u64,
    /// Why the counting ended.
    pub ended: Ended,
    /// How the first process ended; `None` if we ended it.
    pub status: Option<ExitStatus>,
    /// Programs that lost their additional privileges (set-user-ID, set-group-ID, file capabilities),
    /// because a tracer without `CAP_SYS_PTRACE` followed them (`security/commoncap.c`).
    pub without_their_rights: Vec<PathBuf>,
}

/// Why a counting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The last process ended.
    TreeGone,
    /// The first process ended, as requested.
    FirstProcessGone,
    /// The program's entry point was reached.
    LoaderDone,
    /// The time limit was reached, and all processes were killed.
    TimedOut,
}

/// The counts of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Times it was entered.
    pub calls: u64,
    /// Times it returned an error. As in strace, a call that the kernel restarts after a signal is one of these.
    pub failed: u64,
    /// Times it did not return before the counting ended or its thread did: `exit_group` never does. strace leaves these
    /// out of its table.
    pub unfinished: u64,
}

/// Counts by call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTable {
    calls: BTreeMap<CallName, CallCount>,
}

impl CallTable {
    /// Each call that was made, in the order of names, unknown ones last.
    pub fn iter(&self) -> impl Iterator<Item = (CallName, CallCount)> + '_ {
        self.calls.iter().map(|(name, count)| (*name, *count))
    }

    /// The count of one call by its name in the kernel's table; zeroes if it was never made.
    pub fn get(&self, name: &str) -> CallCount {
        let found = self.calls.iter().find(|(known, _)| known.known() == Some(name));
        found.map(|(_, count)| *count).unwrap_or_default()
    }

    /// All calls together.
    pub fn total(&self) -> CallCount {
        let mut total = CallCount::default();
        for count in self.calls.values() {
            total.calls = total.calls.saturating_add(count.calls);
            total.failed = total.failed.saturating_add(count.failed);
            total.unfinished = total.unfinished.saturating_add(count.unfinished);
        }
        total
    }

    pub(super) fn begun(&mut self, name: CallName) {
        let count = self.calls.entry(name).or_default();
        count.calls = count.calls.saturating_add(1);
        count.unfinished = count.unfinished.saturating_add(1);
    }

    pub(super) fn returned(&mut self, name: CallName, failed: bool) {
        let count = self.calls.entry(name).or_default();
        count.unfinished = count.unfinished.saturating_sub(1);
        count.failed = count.failed.saturating_add(u64::from(failed));
    }
}

impl SyscallCounts {
    /// Failed calls that searched for a library, or for a directory of libraries.
    pub fn library_probes(&self) -> impl Iterator<Item = &FailedName> {
        self.failed_names.iter().filter(|failed| failed.probe.is_some())
    }
}
