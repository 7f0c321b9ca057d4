//! A mark that a program and all its descendants carry for life, and killing all processes with it.
//!
//! Processes that leave their parent (a daemon), their session (`setsid`) and their group cannot be identified
//! once the process that launched them has ended: it was their subreaper, and init adopts them. What survives
//! `fork`, `exec`, `setsid` and a set-user-ID program are the resource limits. `RLIMIT_LOCKS` has had
//! no effect since Linux 2.4.25 (`getrlimit(2)`), and `/proc/PID/limits` shows it to every user, so its soft limit can
//! identify a process's launch. A random number is unique, also when PIDs are reused.
//!
//! Killing runs in a guardian right after `fork`: it makes system calls only and allocates nothing.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, setrlimit};

/// The limit's name in `/proc/PID/limits` (`fs/proc/base.c`), before its soft and its hard value.
const LIMIT_NAME: &[u8] = b"Max file locks";
/// The file is 17 lines of 80 characters at most.
const LIMITS_SIZE: usize = 4096;
/// How long to wait for dying processes: in uninterruptible sleep a process dies when its I/O is done.
const ENDING_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two scans of all processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// One scan may miss a process that forks and ends while `/proc` is read; several scans do not. On a slow machine three did.
const EMPTY_LOOKS: u32 = 10;
/// Room for a few names of `/proc`: each is looked at right after it was read, before its process has ended.
const NAMES_SIZE: usize = 128;

/// A number that no other process on this machine carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMark(u64);

impl ProcessMark {
    /// Makes one from random bits. It is beyond any number of locks, so that it does not act as a limit.
    pub fn new(random: [u8; 8]) -> Self {
        Self((u64::from_ne_bytes(random) >> 2) | (1 << 62))
    }

    /// Children started while the returned value lives carry the mark. `None` where the limit cannot be set: a hard limit
    /// or a sandbox forbids it.
    pub fn hand_down(self) -> Option<HandingDown> {
        let before = getrlimit(Resource::Locks);
        setrlimit(Resource::Locks, Rlimit { current: Some(self.0), ..before }).ok()?;
        Some(HandingDown { before })
    }

    /// Kills all processes with the mark, and scans again until there is none.
    ///
    /// `proc` is an open `/proc`. Each process is held by a pidfd before it is checked, so that a reused PID
    /// cannot hit another process.
    ///
    /// Processes that fork and end at once are gone before they are checked. So the whole process group of a marked process is
    /// killed, by one signal: in a session or a group that a marked process has created,
    /// there are no others. `session` is that of the process that handed the mark down; it contains others,
    /// too.
    pub(crate) fn end_all(self, proc: BorrowedFd<'_>, session: libc::pid_t) {
        let looks = ENDING_LIMIT.as_millis() / LOOK_INTERVAL.as_millis();
        let mut empty = 0;
        for _ in 0..looks {
            empty = if self.end_found(proc, session) { 0 } else { empty + 1 };
            if empty == EMPTY_LOOKS {
                return;
            }
            let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_INTERVAL.subsec_nanos()) };
            let _ = poll(&mut [], Some(&pause));
        }
    }

    /// One scan of all processes; whether a living one carries the mark. A zombie still shows its
    /// group.
    fn end_found(self, proc: BorrowedFd<'_>, session: libc::pid_t) -> bool {
        let mut found = false;
        let mut buffer = [MaybeUninit::<u8>::uninit(); NAMES_SIZE];
        if seek(proc, SeekFrom::Start(0)).is_err() {
            return false;
        }
        let mut entries = RawDir::new(proc, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            if let Some((number, process)) = self.marked(proc, entry.file_name()) {
                found |= is_alive(&process);
                kill_group_of(number, session);
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
        found
    }

    /// The process of this name in `/proc`, and its pidfd, if it carries the mark; zombies included.
    fn marked(self, proc: BorrowedFd<'_>, name: &CStr) -> Option<(Pid, OwnedFd)> {
        let number = Pid::from_raw(std::str::from_utf8(name.to_bytes()).ok()?.parse().ok()?)?;
        let process = pidfd_open(number, PidfdFlags::empty()).ok()?;
        let mut limits = [0; LIMITS_SIZE];
        let length = read_limits(proc, name, &mut limits)?;
        (soft_limit(limits.get(..length)?) == Some(self.0)).then_some((number, process))
    }
}

fn is_alive(process: &OwnedFd) -> bool {
    // Readable: it has ended, and waits for its parent.
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|count| count == 0)
}

/// Kills the group of a marked process, if no unmarked process can be in it. The process existed a moment ago; for its group's
/// number to be reused, all PIDs would have to be used up meanwhile.
///
/// Not by rustix, which rejects 0: the number of a session or group of another PID namespace.
fn kill_group_of(process: Pid, session: libc::pid_t) {
    let process = process.as_raw_nonzero().get();
    // SAFETY: system calls with integers.
    let (group, of_process) = unsafe { (libc::getpgid(process), libc::getsid(process)) };
    let is_its_own = group == process || of_process > 0 && of_process != session;
    if group > 1 && is_its_own {
        // SAFETY: as above.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// The mark is handed down as long as this lives.
#[derive(Debug)]
pub struct HandingDown {
    before: Rlimit,
}

impl Drop for HandingDown {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Locks, self.before);
    }
}

/// Removes an inherited mark from this process: a guardian must outlive the processes it kills.
pub(crate) fn take_off() {
    let limit = getrlimit(Resource::Locks);
    let _ = setrlimit(Resource::Locks, Rlimit { current: limit.maximum, ..limit });
}

/// Reads `/proc/PID/limits`; returns its length.
fn read_limits(proc: BorrowedFd<'_>, name: &CStr, into: &mut [u8; LIMITS_SIZE]) -> Option<usize> {
    let directory = openat(proc, name, OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let file = openat(directory.as_fd(), c"limits", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    rustix::io::read(&file, into).ok()
}

/// The soft limit on file locks; `None` for "unlimited".
fn soft_limit(limits: &[u8]) -> Option<u64> {
    let line = limits.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(LIMIT_NAME))?;
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    std::str::from_utf8(words.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn only_who_carries_the_mark_is_ended() {
        let proc = std::fs::File::open(coldstart_host::process::ALL).unwrap();
        // SAFETY: a system call with an integer.
        let ours = unsafe { libc::getsid(0) };
        let [mark, other] = [7, 8].map(|byte| ProcessMark::new([byte; 8]));
        let (mut marked, mut unmarked);
        {
            let Some(_handing_down) = mark.hand_down() else {
                coldstart_testing::skip("RLIMIT_LOCKS cannot be set here");
                return;
            };
            marked = sleeper();
        }
        unmarked = sleeper();
        other.end_all(proc.as_fd(), ours);
        assert!(marked.try_wait().unwrap().is_none(), "another mark is meant");
        mark.end_all(proc.as_fd(), ours);
        assert_eq!(marked.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(unmarked.try_wait().unwrap().is_none());
        unmarked.kill().unwrap();
        unmarked.wait().unwrap();
    }

    #[test]
    fn the_limit_is_read_as_the_kernel_writes_it() {
        let text = b"Limit                     Soft Limit           Hard Limit           Units     \n\
                     Max locked memory         8388608              8388608              bytes     \n\
                     Max file locks            4611686018427387905  unlimited            locks     \n";
        assert_eq!(soft_limit(text), Some((1 << 62) + 1));
        assert_eq!(
            soft_limit(b"Max file locks            unlimited            unlimited            locks     \n"),
            None
        );
        assert_eq!(soft_limit(b"Max file lo"), None);
        let ours = std::fs::read(coldstart_host::process::own::LIMITS).unwrap();
        assert!(ours.len() < LIMITS_SIZE && ours.windows(LIMIT_NAME.len()).any(|window| window == LIMIT_NAME));
    }
}
