//! The processes of the machine, as `/proc/PID/stat` shows them (`proc_pid_stat(5)`).
//!
//! All processes are read rather than `/proc/PID/task/TID/children`: that file is only right while the children stand
//! still (`proc_tid_children(5)`) and may be configured out of the kernel.

use std::str::SplitAsciiWhitespace;
use std::{fs, io};

/// A process number with its start time: numbers are reused, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) number: u32,
    /// Clock ticks since boot.
    pub(crate) started: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Of the first thread. `Z`: ended and not reaped yet; `T`: stopped; other letters: alive.
    pub(crate) state: u8,
    /// Threads that have not ended; the first thread counts until the process is reaped.
    pub(crate) threads: u32,
}

impl Process {
    /// Whether all of its threads have ended.
    ///
    /// A process lives until its last thread has ended, while its first thread, the one that `state` tells of, may be a
    /// zombie long before: after `pthread_exit` in `main`, and whenever a process with many threads is killed.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }
}

/// All processes that we may see. Those that end meanwhile are left out.
pub(crate) fn all_processes() -> io::Result<Vec<Process>> {
    let mut processes = Vec::with_capacity(256);
    let mut path = String::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        path.clear();
        path.push_str("/proc/");
        path.push_str(name.to_str().unwrap_or_default());
        path.push_str("/stat");
        if let Some(process) = fs::read(&path).ok().and_then(|stat| parse_stat(number, &stat)) {
            processes.push(process);
        }
    }
    Ok(processes)
}

/// The process with this number, if there is one.
pub(crate) fn process(number: u32) -> Option<Process> {
    parse_stat(number, &fs::read(format!("/proc/{number}/stat")).ok()?)
}

/// `PID (NAME) STATE PPID PGRP SESSION ... NUM_THREADS ITREALVALUE STARTTIME ...`.
pub(crate) fn parse_stat(number: u32, stat: &[u8]) -> Option<Process> {
    let mut fields = stat_fields(stat)?;
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Field 20 of the file; the iterator stands before field 7.
    let threads = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Process { identity: Identity { number, started }, parent, group, session, state, threads })
}

/// The fields of a `stat` file from the third, the state. The name before them may hold blanks and parentheses.
pub(super) fn stat_fields(stat: &[u8]) -> Option<SplitAsciiWhitespace<'_>> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    Some(std::str::from_utf8(stat.get(after_name..)?).ok()?.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_may_look_like_the_rest() {
        let stat = b"42 (a) Z 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1 1";
        let identity = Identity { number: 42, started: 123_456 };
        let wanted = Process { identity, parent: 7, group: 8, session: 9, state: b'S', threads: 1 };
        assert_eq!(parse_stat(42, stat), Some(wanted));
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let ended = |state, threads| {
            let identity = Identity { number: 42, started: 1 };
            Process { identity, parent: 7, group: 8, session: 9, state, threads }.has_ended()
        };
        assert!(ended(b'Z', 1) && ended(b'X', 0));
        assert!(!ended(b'Z', 2), "the first thread has ended, another has not");
        assert!(!ended(b'S', 1) && !ended(b'T', 1));
    }

    #[test]
    fn we_find_ourselves() {
        let us = process(std::process::id()).unwrap();
        assert_eq!(us.parent, std::os::unix::process::parent_id());
        assert!(all_processes().unwrap().iter().any(|process| process.identity == us.identity));
    }

    proptest! {
        #[test]
        fn hostile_lines_are_harmless(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_stat(1, &line);
        }
    }
}
