//! What the processes of a launch had read by one moment, while they still exist.
//!
//! `wait4` gives a process's figures when it is reaped: too late for the figures at readiness, because ending a tree
//! adds work. `/proc/PID/io` and `stat` give the same sums earlier: of all threads, ended ones included, and
//! of all reaped descendants. Zombies still have their figures.

use std::collections::HashSet;
use std::path::Path;

use coldstart_host::process::{ProcessFiles, Stat, own};

use super::process::{Identity, all_processes};
use super::{Tree, has_children};
use crate::launched::{Counts, Uncounted};

/// How often to count again: a process that ends meanwhile moves its figures to its parent.
const MOST_PASSES: usize = 20;
const SIGCHLD: i32 = 17;

/// The figures of one process and of its reaped children. Figures unknown to the kernel are `None`.
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
        // All still exist, as processes or as zombies: then no figures have moved meanwhile.
        let Ok(table) = all_processes() else { return Some(Counts::unknown(Uncounted::Hidden)) };
        let there: HashSet<Identity> = table.iter().map(|process| process.identity).collect();
        members.iter().all(|member| there.contains(&member.identity)).then_some(sum)
    }
}

/// Whether a process ignores SIGCHLD: then the figures of its children are discarded when they end (`wait(2)`).
/// `SA_NOCLDWAIT` has the same effect and is not shown by the kernel.
pub(super) fn loses_children(number: u32) -> bool {
    ProcessFiles::of(number).status().has_signal("SigIgn", SIGCHLD)
}

/// Whether this kernel has I/O accounting (`CONFIG_TASK_IO_ACCOUNTING`). Without it, `getrusage` reports 0.
fn has_accounting() -> bool {
    Path::new(own::IO).exists()
}

/// `None` if the process has ended.
fn counts_of(identity: Identity) -> Option<ProcessCounts> {
    let files = ProcessFiles::of(identity.number);
    let bytes_read = files.bytes_read();
    counted(identity, &files.stat()?, bytes_read)
}

/// Its own faults, and those of its reaped children. The PID may have been reused.
fn counted(identity: Identity, stat: &Stat, bytes_read: Option<u64>) -> Option<ProcessCounts> {
    (stat.started == identity.started).then_some(ProcessCounts {
        bytes_read,
        major_faults: stat.major_faults.saturating_add(stat.major_faults_of_children),
        minor_faults: stat.minor_faults.saturating_add(stat.minor_faults_of_children),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_taken_with_those_of_children() {
        let stat = Stat::parse(b"42 (a) ) S 7 8 9 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 1 0 123456 1 1").unwrap();
        let counted = |started| counted(Identity { number: 42, started }, &stat, Some(9));
        let wanted = ProcessCounts { bytes_read: Some(9), major_faults: 7, minor_faults: 120 };
        assert_eq!(counted(123_456), Some(wanted));
        assert_eq!(counted(5), None, "another process has the number now");
    }
}
