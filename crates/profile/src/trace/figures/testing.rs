//! Traces made by hand.

use crate::trace::{
    Event, EventKind, FileCategory, FileId, Known, Moment, ObjectSection, ObjectSegment, Phase, PhaseKind, ProcessId,
    ThreadId, Touch, Trace, TracedFile, TracedObject, TracedProcess, TracedThread,
};

/// Builds a trace piece by piece.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) trace: Trace,
}

impl Builder {
    /// One more process, with one thread.
    pub(super) fn process(mut self) -> Self {
        let process = ProcessId(self.trace.processes.len() as u32);
        let number = 100 + process.0;
        self.trace.processes.push(TracedProcess { number, executed: true, ..TracedProcess::default() });
        self.trace.threads.push(TracedThread { number, process });
        self
    }

    /// One more file.
    pub(super) fn file(mut self, path: &str, category: FileCategory) -> Self {
        self.trace.files.push(TracedFile { path: path.into(), device: 1, inode: 1, identity: None, category });
        self
    }
}

pub(super) fn phase(kind: PhaseKind, begin: u64, end: u64) -> Phase {
    Phase {
        process: ProcessId(0),
        kind,
        file: None,
        address: None,
        begin: Moment(begin),
        end: Moment(end),
        parent: None,
        known: Known::Exactly,
    }
}

/// An event of the first thread and the first file, of one page.
pub(super) fn event(at: u64, page: u64, kind: EventKind) -> Event {
    Event { at: Moment(at), thread: ThreadId(0), kind, file: Some(FileId(0)), page, pages: 1, code: None }
}

pub(super) fn touch(at: u64, page: u64) -> Event {
    event(at, page, EventKind::Touch(Touch::default()))
}

pub(super) fn object(file: u32) -> TracedObject {
    TracedObject {
        file: FileId(file),
        soname: None,
        build_id: None,
        machine: 62,
        is_64_bit: true,
        entry: 0,
        segments: vec![ObjectSegment {
            address: 0x10_000,
            offset: 0x2000,
            file_size: 0x8000,
            memory_size: 0x8000,
            flags: 5,
        }],
        sections: Vec::new(),
        symbols: Vec::new(),
        relocations: Vec::new(),
    }
}

pub(super) fn section(name: &str, address: u64, offset: u64, size: u64) -> ObjectSection {
    ObjectSection { name: name.to_owned(), address, offset, size, entry_size: 0, is_zero_filled: false }
}
