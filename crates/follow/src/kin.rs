//! Whose a thread is, by what `/proc` tells of it.

use std::fs;
use std::path::Path;

/// A thread's process, and that one's parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    pub(crate) process: u32,
    pub(crate) parent: u32,
}

impl Kin {
    /// From `/proc/PID/status` (`proc_pid_status(5)`); `None` for a thread that is gone or may not be looked at.
    pub(crate) fn of(thread: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let number = |name: &str| {
            let mut fields = status.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(field, _)| *field == name)?.1.trim().parse().ok()
        };
        Some(Self { process: number("Tgid")?, parent: number("PPid")? })
    }
}

/// Whether a thread is there, perhaps ended and not waited for yet.
pub(crate) fn exists(thread: u32) -> bool {
    Path::new(&format!("/proc/{thread}")).exists()
}

/// Whether a thread is one of a process's.
pub(crate) fn is_thread_of(process: u32, thread: u32) -> bool {
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_our_own_process() {
        let us = std::process::id();
        assert_eq!(Kin::of(us), Some(Kin { process: us, parent: std::os::unix::process::parent_id() }));
        assert!(exists(us) && is_thread_of(us, us));
    }

    #[test]
    fn what_is_not_there_has_no_kin() {
        assert_eq!((Kin::of(0), Kin::of(u32::MAX)), (None, None));
        assert!(!exists(u32::MAX) && !is_thread_of(std::process::id(), 1));
    }
}
