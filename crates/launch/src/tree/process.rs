//! The processes of the machine, as `stat` shows them (`proc_pid_stat(5)`).
//!
//! All processes are read rather than `/proc/PID/task/TID/children`: that file is only right while the children are
//! stopped (`proc_tid_children(5)`) and may be configured out of the kernel.

use std::io;

use coldstart_host::process::{ProcessFiles, Stat, numbers};

/// A PID with its start time: PIDs are reused, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) number: u32,
    /// Clock ticks since boot.
    pub(crate) started: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    pub(crate) stat: Stat,
}

impl Process {
    fn of(number: u32) -> Option<Self> {
        let stat = ProcessFiles::of(number).stat()?;
        Some(Self { identity: Identity { number, started: stat.started }, stat })
    }
}

/// All visible processes. Those that end meanwhile are left out.
pub(crate) fn all_processes() -> io::Result<Vec<Process>> {
    Ok(numbers()?.into_iter().filter_map(Process::of).collect())
}

/// The process with this number, if there is one.
pub(crate) fn process(number: u32) -> Option<Process> {
    Process::of(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_find_ourselves() {
        let us = process(std::process::id()).unwrap();
        assert_eq!(us.stat.parent, std::os::unix::process::parent_id());
        assert!(all_processes().unwrap().iter().any(|process| process.identity == us.identity));
    }
}
