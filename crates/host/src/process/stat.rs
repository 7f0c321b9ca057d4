//! `/proc/PID/stat`: one line of numbers (`proc_pid_stat(5)`).

use crate::text::{decimal, words};

/// The fields of `stat` that coldstart uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Of the first thread. `Z`: ended and not reaped yet; `X`: being removed; `T`, `t`: stopped; other letters: alive.
    pub state: u8,
    /// The parent's PID; 0 where it is outside our PID namespace.
    pub parent: u32,
    /// The process group's number.
    pub group: u32,
    /// The session's number.
    pub session: u32,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Those of its reaped children.
    pub minor_faults_of_children: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Those of its reaped children.
    pub major_faults_of_children: u64,
    /// Processor time, its own and the kernel's for it, in clock ticks.
    pub ticks: u64,
    /// Threads that have not ended; the first thread counts until the process is reaped.
    pub threads: u32,
    /// Start time, in clock ticks since boot.
    pub started: u64,
}

impl Stat {
    /// From `PID (NAME) STATE PPID PGRP SESSION ...`. `None` for anything else, also for the line of a process that the kernel is
    /// removing: its group and session are -1.
    pub fn parse(line: &[u8]) -> Option<Self> {
        // The name may contain blanks and parentheses, numbers do not.
        let name_end = line.iter().rposition(|&byte| byte == b')')?;
        let mut fields = words(line.get(name_end.checked_add(1)?..)?);
        let state = *fields.next()?.first()?;
        let [parent, group, session] = [decimal(fields.next()?)?, decimal(fields.next()?)?, decimal(fields.next()?)?];
        // The iterator is at field 7, and the faults are fields 10 to 13.
        let mut counts = fields.by_ref().skip(3).map(decimal);
        let mut count = || counts.next()?;
        let (minor_faults, minor_faults_of_children, major_faults, major_faults_of_children) =
            (count()?, count()?, count()?, count()?);
        // Fields 14 and 15, field 20, and field 22.
        let ticks = decimal::<u64>(fields.next()?)?.saturating_add(decimal(fields.next()?)?);
        let threads = decimal(fields.nth(4)?)?;
        let started = decimal(fields.nth(1)?)?;
        Some(Self {
            state,
            parent,
            group,
            session,
            minor_faults,
            minor_faults_of_children,
            major_faults,
            major_faults_of_children,
            ticks,
            threads,
            started,
        })
    }

    /// Whether its first thread has ended: the process may go on with its other threads.
    pub fn first_thread_has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// Whether all of its threads have ended.
    ///
    /// A process lives until its last thread has ended. Its first thread, to which `state` refers, may be a zombie long before:
    /// after `pthread_exit` in `main`, and whenever a process with many threads is killed.
    pub fn has_ended(&self) -> bool {
        self.first_thread_has_ended() && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessFiles;
    use proptest::prelude::*;

    const REST: &[u8] = b") S 7 8 9 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 1 0 123456 1 1\n";

    fn wanted() -> Stat {
        Stat {
            state: b'S',
            parent: 7,
            group: 8,
            session: 9,
            minor_faults: 100,
            minor_faults_of_children: 20,
            major_faults: 3,
            major_faults_of_children: 4,
            ticks: 11,
            threads: 1,
            started: 123_456,
        }
    }

    #[test]
    fn a_name_may_look_like_the_rest() {
        assert_eq!(Stat::parse(&[b"42 (a) Z 1 (b", REST].concat()), Some(wanted()));
        assert_eq!(Stat::parse(&[b"42 (\xff)\n", REST].concat()), Some(wanted()));
        assert_eq!(Stat::parse(b"42 (a) X 0 -1 -1 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 1 0 123456 1 1"), None);
        assert_eq!(Stat::parse(b"42 (a) S 7 8 9 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 1 0"), None);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let ended = |state, threads| Stat { state, threads, ..wanted() }.has_ended();
        assert!(ended(b'Z', 1) && ended(b'X', 0));
        assert!(!ended(b'Z', 2), "the first thread has ended, another has not");
        assert!(!ended(b'S', 1) && !ended(b'T', 1));
    }

    #[test]
    fn this_process_is_told() {
        let own = ProcessFiles::own().stat().unwrap();
        let number = |pid: Option<rustix::process::Pid>| pid.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
        assert_eq!(own.parent, number(rustix::process::getppid()));
        assert_eq!(own.group, number(Some(rustix::process::getpgrp())));
        // rustix rejects 0, but that is the number of a session of another PID namespace.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let sessions = status.lines().find_map(|line| line.strip_prefix("NSsid:")).unwrap();
        assert_eq!(own.session, sessions.split_whitespace().next_back().unwrap().parse::<u32>().unwrap());
        assert!(own.started > 0 && own.minor_faults > 0 && !own.has_ended());
        assert_eq!(ProcessFiles::of(std::process::id()).stat().unwrap().started, own.started);
    }

    proptest! {
        #[test]
        fn a_name_says_nothing(name in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Stat::parse(&name);
            prop_assert_eq!(Stat::parse(&[b"42 (", &*name, REST].concat()), Some(wanted()));
        }
    }
}
