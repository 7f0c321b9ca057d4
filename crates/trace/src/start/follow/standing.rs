//! A thread that stands still, and what those who look at it may do with it.

use std::cell::RefCell;
use std::rc::Rc;

use coldstart_analyse::{Note, NoteKind};
use coldstart_follow::Following;
use coldstart_host::process::ProcessFiles;
use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{Argument, RemoteCall, Tracer};

use super::memory::Memory;

/// What was noted so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Rc<RefCell<Vec<Note>>>);

impl Notes {
    pub(super) fn add(&self, note: Note) {
        self.0.borrow_mut().push(note);
    }

    pub(super) fn take(&self) -> Vec<Note> {
        self.0.take()
    }
}

/// A thread at the stop that is being handled.
pub(super) struct Standing<'f> {
    pub(super) following: &'f mut Following,
    pub(super) thread: u32,
    process: u32,
    notes: Notes,
    own_filters: u32,
}

impl<'f> Standing<'f> {
    /// `own_filters` says how many filters of ours the thread has.
    pub(super) fn new(following: &'f mut Following, thread: u32, notes: &Notes, own_filters: u32) -> Self {
        let process = following.process_of(thread).unwrap_or(thread);
        Self { following, thread, process, notes: notes.clone(), own_filters }
    }

    pub(super) fn tracer(&self) -> &Tracer {
        self.following.tracer()
    }

    /// Notes something with the time of the stop.
    pub(super) fn note(&self, what: NoteKind) {
        self.note_at(self.following.at(), what);
    }

    /// Notes something with the present time: other things were done since the stop.
    pub(super) fn note_now(&self, what: NoteKind) {
        self.note_at(monotonic_nanoseconds(), what);
    }

    /// Notes something with a time of the monotonic clock, in nanoseconds.
    pub(super) fn note_at(&self, at: u64, what: NoteKind) {
        self.notes.add(Note { at, process: self.process, thread: self.thread, what });
    }

    /// Sets the debug registers to stop at these addresses. Where they cannot be set, stages are not seen.
    pub(super) fn set_breakpoints(&self, first: Option<u64>, second: Option<u64>) -> std::io::Result<()> {
        self.tracer().set_breakpoints(self.thread, first, second)
    }

    /// Makes a call in its name. `None` if it could not be finished: the thread has ended, say.
    pub(super) fn call(&mut self, place: RemoteCall, call: &Argument) -> std::io::Result<Option<i64>> {
        self.following.call(place, self.thread, call)
    }

    /// Where a call can be made in its name, or why none may be. A filter of the program's own may answer one that it does not expect by
    /// killing the program.
    pub(super) fn call_place(&self, memory: &Memory) -> Result<RemoteCall, String> {
        let place = memory.call.ok_or("no place in it where a call can be made")?;
        if filters(self.thread) > self.own_filters {
            return Err("it has a seccomp filter of its own".to_owned());
        }
        Ok(place)
    }
}

/// How many seccomp filters a thread has (Linux 5.9).
pub(super) fn filters(thread: u32) -> u32 {
    ProcessFiles::of(thread).status().seccomp_filters().unwrap_or(0)
}

/// What a call that failed says by its result.
pub(super) fn call_error(result: i64) -> std::io::Error {
    std::io::Error::from_raw_os_error(i32::try_from(result.saturating_neg()).unwrap_or(0))
}
