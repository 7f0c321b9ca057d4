//! What the processes of a launch had read by one moment, while they are still there to be asked.
//!
//! `wait4` gives a process's figures when it is reaped: too late for what was read up to readiness, because ending a tree
//! makes it work again. `/proc/PID/io` and `stat` give the same sums earlier: of all threads, ended ones included, and
//! of all descendants that were waited for. Ended processes that nobody has waited for yet are still there to be asked.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::process::{Identity, all_processes, stat_fields};
use super::{Tree, has_children};
use crate::launched::{Counts, Uncounted};

/// A process that ends while the tree is being counted moves its figures to its parent, so we count again; so often.
const MOST_PASSES: usize = 20;
/// The bit of SIGCHLD (17) in the masks of `/proc/PID/status`: bit n - 1 is signal n (`proc_pid_status(5)`).
const SIGCHLD: u64 = 1 << 16;

/// The figures of one process and of those it has waited for. A figure that the kernel does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessCounts {
    bytes_read: Option<u64>,
    major_faults: u64,
    minor_faults: u64,
}

impl Tree {
    /// What the launch's processes have read so far, those reaped included.
    pub(crate) fn counts(&self) -> Counts {
        for _ in 0..MOST_PASSES {
            if let Some(counts) = self.one_pass() {
                return counts;
            }
        }
        Counts::unknown(Uncounted::Changing)
    }

    /// `None` if a process of the tree ended meanwhile.
    fn one_pass(&self) -> Option<Counts> {
        let mut sum = Counts {
            bytes_read: has_accounting().then_some(self.usage.bytes_read),
            major_faults: Some(self.usage.major_faults),
            minor_faults: Some(self.usage.minor_faults),
            unknown: None,
        };
        if sum.bytes_read.is_none() {
            sum.unknown = Some(Uncounted::NoAccounting);
        }
        if self.lost_children {
            return Some(Counts::unknown(Uncounted::ChildrenNotWaitedFor));
        }
        if !has_children() {
            return Some(sum);
        }
        let Ok(table) = all_processes() else { return Some(Counts::unknown(Uncounted::Hidden)) };
        let members = self.kinship.members(&table);
        for member in &members {
            let counts = counts_of(member.identity)?;
            if loses_children(member.identity.number) {
                return Some(Counts::unknown(Uncounted::ChildrenNotWaitedFor));
            }
            if counts.bytes_read.is_none() {
                sum.unknown.get_or_insert(Uncounted::Hidden);
            }
            sum.bytes_read = sum.bytes_read.zip(counts.bytes_read).map(|(sum, more)| sum.saturating_add(more));
            sum.major_faults = sum.major_faults.map(|sum| sum.saturating_add(counts.major_faults));
            sum.minor_faults = sum.minor_faults.map(|sum| sum.saturating_add(counts.minor_faults));
        }
        // All still there, as processes or as zombies: then no figure has moved from one to another meanwhile.
        let Ok(table) = all_processes() else { return Some(Counts::unknown(Uncounted::Hidden)) };
        let there: HashSet<Identity> = table.iter().map(|process| process.identity).collect();
        members.iter().all(|member| there.contains(&member.identity)).then_some(sum)
    }
}

/// Whether a process ignores SIGCHLD: then the figures of its children are dropped when they end (`wait(2)`).
/// `SA_NOCLDWAIT` has the same effect and is not shown by the kernel.
pub(super) fn loses_children(number: u32) -> bool {
    let status = fs::read(format!("/proc/{number}/status")).unwrap_or_default();
    // The process's name in it may be anything.
    let status = String::from_utf8_lossy(&status);
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SIGCHLD != 0)
}

/// Whether this kernel counts what processes read (`CONFIG_TASK_IO_ACCOUNTING`). Without it, `getrusage` says 0.
fn has_accounting() -> bool {
    Path::new("/proc/self/io").exists()
}

/// `None` if the process is gone.
fn counts_of(identity: Identity) -> Option<ProcessCounts> {
    let io = fs::read_to_string(format!("/proc/{}/io", identity.number)).ok();
    let stat = fs::read(format!("/proc/{}/stat", identity.number)).ok()?;
    parse_faults(identity, &stat, io.as_deref().and_then(parse_bytes_read))
}

/// `read_bytes: N`, what the process caused to be read from disks (`proc_pid_io(5)`).
fn parse_bytes_read(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

/// The faults in a `stat` file: its own, and those of its children that it has waited for.
fn parse_faults(identity: Identity, stat: &[u8], bytes_read: Option<u64>) -> Option<ProcessCounts> {
    // Fields 10 to 13 (`proc_pid_stat(5)`); the first of these is field 3.
    let mut fields = stat_fields(stat)?.skip(7);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (minor, of_children_minor, major, of_children_major) = (next()?, next()?, next()?, next()?);
    // Field 22; the iterator stands before field 14. Another process may have been given the number.
    let started: u64 = fields.nth(8)?.parse().ok()?;
    (started == identity.started).then_some(ProcessCounts {
        bytes_read,
        major_faults: major.saturating_add(of_children_major),
        minor_faults: minor.saturating_add(of_children_minor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_taken_with_those_of_children() {
        let stat = b"42 (a) ) S 7 8 9 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 1 0 123456 1 1";
        let counted = |started| parse_faults(Identity { number: 42, started }, stat, Some(9));
        let wanted = ProcessCounts { bytes_read: Some(9), major_faults: 7, minor_faults: 120 };
        assert_eq!(counted(123_456), Some(wanted));
        assert_eq!(counted(5), None, "another process has the number now");
    }

    #[test]
    fn what_was_read_from_disks_is_told_from_what_was_read() {
        assert_eq!(parse_bytes_read("rchar: 1\nsyscr: 2\nread_bytes: 4096\nwrite_bytes: 3\n"), Some(4096));
        assert_eq!(parse_bytes_read("rchar: 1\n"), None);
    }
}
