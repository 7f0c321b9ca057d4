//! Reaping one child together with its resource usage (`wait4(2)`).
//!
//! `RUSAGE_CHILDREN` would sum all children of this process; `wait4` gives the figures of the reaped one, with
//! those of the descendants that it reaped itself. Both miss the children of a process that ignores `SIGCHLD`.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// A child that ended, and what it used.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    /// How it ended.
    pub status: ExitStatus,
    /// The usage of it and its own reaped descendants.
    pub usage: ResourceUsage,
}

/// The fields of `getrusage(2)` that Linux fills in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Largest resident set of one process, in bytes.
    pub peak_resident_bytes: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Blocks of 512 bytes read from disks on its behalf, readahead included (`task_io_account_read`).
    pub blocks_read: u64,
    /// Blocks of 512 bytes that it dirtied.
    pub blocks_written: u64,
    /// Times it gave up the processor to wait.
    pub voluntary_switches: u64,
    /// Times the processor was taken from it.
    pub involuntary_switches: u64,
}

/// Reaps the child `pid` if it has ended; `None` while it runs. Never waits.
///
/// # Errors
/// `ECHILD` if `pid` is not a child of ours, or was reaped already.
pub fn reap(pid: u32) -> io::Result<Option<Reaped>> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ECHILD))?;
    if pid == 0 {
        // To the kernel 0 means "any child of my process group".
        return Err(io::Error::from_raw_os_error(libc::ECHILD));
    }
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live locals of the types that wait4 writes. A zeroed rusage is a valid value.
        let result = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr()) };
        if result == 0 {
            return Ok(None);
        }
        if result < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        break;
    }
    let status = ExitStatus::from_raw(status);
    if status.code().is_none() && status.signal().is_none() {
        // A ptrace stop, not an end.
        return Ok(None);
    }
    // SAFETY: zeroed above and then filled in by the kernel: every field is a plain integer.
    let usage = unsafe { usage.assume_init() };
    Ok(Some(Reaped { status, usage: from_kernel(&usage) }))
}

fn from_kernel(usage: &libc::rusage) -> ResourceUsage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    ResourceUsage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        peak_resident_bytes: count(usage.ru_maxrss).saturating_mul(1024),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        blocks_read: count(usage.ru_inblock),
        blocks_written: count(usage.ru_oublock),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds).saturating_add(Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    // It is waited on, by the function under test.
    #[allow(clippy::zombie_processes)]
    #[test]
    fn a_child_is_reaped_once_with_its_status_and_usage() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        assert!(reap(child.id()).unwrap().is_none(), "it waits for its input");
        drop(child.stdin.take());
        let reaped = loop {
            match reap(child.id()).unwrap() {
                Some(reaped) => break reaped,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert_eq!(reaped.status.code(), Some(0));
        assert!(reaped.usage.minor_faults > 0 && reaped.usage.peak_resident_bytes > 0);
        assert_eq!(reap(child.id()).unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }

    #[test]
    fn numbers_that_are_no_child_are_refused() {
        for pid in [0, 1, u32::MAX] {
            assert_eq!(reap(pid).unwrap_err().raw_os_error(), Some(libc::ECHILD), "{pid}");
        }
    }
}
