//! Traces made by hand.

use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, Moment, ObjectSection, ObjectSegment, ObjectSymbol, ThreadId, Touch, Trace,
    TracedFile, TracedObject, TracedProcess, TracedThread,
};

pub(super) fn section(name: &str, address: u64, size: u64) -> ObjectSection {
    ObjectSection { name: name.to_owned(), address, offset: address, size, entry_size: 0, is_zero_filled: false }
}

pub(super) fn object(file: u32) -> TracedObject {
    let symbol = |address, name: &str| ObjectSymbol { address, size: 0x40, name: name.to_owned(), is_function: true };
    TracedObject {
        file: FileId(file),
        soname: None,
        build_id: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        machine: 62,
        is_64_bit: true,
        entry: 0x1000,
        segments: vec![ObjectSegment { address: 0, offset: 0, file_size: 0x4000, memory_size: 0x6000, flags: 7 }],
        sections: vec![section(".text", 0x1000, 0x3000)],
        symbols: vec![symbol(0x1000, "first"), symbol(0x2010, "second")],
        relocations: Vec::new(),
    }
}

/// One process with one thread and one file, which is the object.
pub(super) fn trace_of(object: TracedObject) -> Trace {
    let mut trace = Trace::default();
    let program = std::path::PathBuf::from("/opt/app");
    trace.processes.push(TracedProcess { number: 100, program: program.clone(), executed: true, ..Default::default() });
    trace.threads.push(TracedThread { number: 100, process: coldstart_profile::trace::ProcessId(0) });
    trace.files.push(TracedFile {
        path: program,
        device: 1,
        inode: 1,
        identity: None,
        category: FileCategory::Program,
    });
    trace.objects.push(object);
    trace
}

pub(super) fn touch_of(page: u64, touch: Touch) -> Event {
    Event {
        at: Moment(1000 * page.min(1 << 40)),
        thread: ThreadId(0),
        kind: EventKind::Touch(touch),
        file: Some(FileId(0)),
        page,
        pages: 1,
        code: None,
    }
}
