//! Single touches: which of them are first touches, and of what kind.
//!
//! What a newcomer would not guess: one page of a private file may validly be touched twice by one process: first
//! read, then written, when it gets a private copy. Any further fault is memory that was reclaimed and fetched again.

use std::collections::{HashMap, HashSet};

use coldstart_profile::trace::{FileId, Moment, ProcessId, ThreadId, Touch};
use coldstart_sys::fault_recorder::Fault;

/// A touch of a file's page, before anything is known of the file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The time.
    pub at: Moment,
    /// The thread.
    pub thread: ThreadId,
    /// The file.
    pub file: FileId,
    /// File offset / 4096; if `touch.zero_filled`, pages from the start of the object in memory, and only perhaps the
    /// object's.
    pub page: u64,
    /// The kind of access.
    pub touch: Touch,
    /// The instruction, if it is in a file.
    pub code: Option<CodePlace>,
}

/// An instruction, by file and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodePlace {
    /// The file.
    pub file: FileId,
    /// File offset, in bytes.
    pub offset: u64,
}

const READ: u8 = 1;
const WRITTEN: u8 = 2;
const EXECUTED: u8 = 4;
const UNKNOWN: u8 = 8;
const UNKNOWN_AGAIN: u8 = 16;

/// The pages touched before.
#[derive(Debug, Default)]
pub(super) struct FirstTouches {
    by_process: HashMap<(ProcessId, FileId, u64), u8>,
    by_run: HashSet<(FileId, u64)>,
}

/// Pages of zero-filled memory are counted by themselves. No file has so many pages that this bit means anything
/// else: offsets have 63 bits (`loff_t`).
const ZERO_FILLED: u64 = 1 << 63;

impl FirstTouches {
    /// Whether this touch is the first of its kind; if so, it learns whether it is the run's first.
    pub(super) fn admit(&mut self, process: ProcessId, file: FileId, page: u64, touch: &mut Touch) -> bool {
        let page = if touch.zero_filled { page | ZERO_FILLED } else { page };
        let before = self.by_process.entry((process, file, page)).or_default();
        let kind = match (touch.execute, touch.write) {
            (true, _) => EXECUTED,
            (false, Some(true)) => WRITTEN,
            (false, Some(false)) => READ,
            // One of two may turn out to be a read, the other a write.
            (false, None) if *before & UNKNOWN == 0 => UNKNOWN,
            (false, None) => UNKNOWN_AGAIN,
        };
        if *before & kind != 0 {
            return false;
        }
        if *before == 0 {
            touch.first_of_run = self.by_run.insert((file, page));
        }
        *before |= kind;
        true
    }
}

/// The kind of access that a fault indicates. `executable` says whether instructions may be fetched there.
pub(super) fn touch(fault: &Fault, executable: bool) -> Touch {
    let same_page = fault.instruction >> 12 == fault.address >> 12;
    let execute = !fault.by_kernel && fault.fetch.unwrap_or(executable && same_page && fault.write != Some(true));
    Touch {
        write: if execute { Some(false) } else { fault.write },
        execute,
        major: fault.major,
        by_kernel: fault.by_kernel,
        ..Touch::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULT: Fault =
        Fault { address: 0x5008, instruction: 0x9000, write: None, fetch: None, major: false, by_kernel: false };

    #[test]
    fn an_instruction_fetch_is_told_or_guessed_from_its_page() {
        let of = |fault: Fault, executable| touch(&fault, executable).execute;
        assert!(of(Fault { fetch: Some(true), ..FAULT }, false));
        assert!(!of(Fault { fetch: Some(false), instruction: 0x5008, ..FAULT }, true));
        assert!(of(Fault { instruction: 0x5004, ..FAULT }, true));
        assert!(!of(Fault { instruction: 0x5004, ..FAULT }, false));
        assert!(!of(Fault { instruction: 0x6004, ..FAULT }, true));
        assert!(!of(Fault { instruction: 0x5004, by_kernel: true, ..FAULT }, true));
        assert_eq!(touch(&Fault { fetch: Some(true), ..FAULT }, true).write, Some(false));
        assert_eq!(touch(&Fault { write: Some(true), ..FAULT }, true).write, Some(true));
    }

    #[test]
    fn each_kind_once_and_the_first_of_the_run_once() {
        let mut first = FirstTouches::default();
        let mut admit = |process, write, execute| {
            let mut touch = Touch { write, execute, ..Touch::default() };
            first.admit(ProcessId(process), FileId(0), 7, &mut touch).then_some(touch.first_of_run)
        };
        assert_eq!(admit(0, Some(false), false), Some(true));
        assert_eq!(admit(0, Some(false), false), None);
        assert_eq!(admit(0, Some(true), false), Some(false), "copied on write");
        assert_eq!(admit(0, Some(true), false), None);
        assert_eq!(admit(1, Some(false), false), Some(false), "another process had it");
        assert_eq!(admit(1, Some(false), true), Some(false));
        assert_eq!(admit(2, None, false), Some(false));
        assert_eq!(admit(2, None, false), Some(false), "may be the write");
        assert_eq!(admit(2, None, false), None);
    }

    #[test]
    fn zero_filled_pages_are_others() {
        let mut first = FirstTouches::default();
        let mut plain = Touch::default();
        let mut zero = Touch { zero_filled: true, ..Touch::default() };
        assert!(first.admit(ProcessId(0), FileId(0), 7, &mut plain) && plain.first_of_run);
        assert!(first.admit(ProcessId(0), FileId(0), 7, &mut zero) && zero.first_of_run);
    }
}
