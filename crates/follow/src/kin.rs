//! A thread's process and parent, from `/proc`.

use coldstart_host::process::{self, ProcessFiles};

/// A thread's process, and that one's parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    pub(crate) process: u32,
    pub(crate) parent: u32,
}

impl Kin {
    /// From its status (`proc_pid_status(5)`); `None` for a thread that has ended or may not be inspected.
    pub(crate) fn of(thread: u32) -> Option<Self> {
        let status = ProcessFiles::of(thread).status();
        Some(Self { process: status.process()?, parent: status.number("PPid")? })
    }
}

/// Whether a thread exists, perhaps as a zombie.
pub(crate) fn exists(thread: u32) -> bool {
    process::exists(thread)
}

/// Whether a thread belongs to a process.
pub(crate) fn is_thread_of(process: u32, thread: u32) -> bool {
    ProcessFiles::of_thread(process, thread).exist()
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
