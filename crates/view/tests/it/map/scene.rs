//! Traces made by hand.

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, FillCause, Known, Layer, Moment, ObjectSection, ObjectSegment, PagesSeen,
    Phase, PhaseKind, ProcessId, Run, StartState, ThreadId, Touch, Trace, TracedFile, TracedObject, TracedProcess,
    TracedThread,
};

/// Nanoseconds of a millisecond.
pub(crate) const MS: u64 = 1_000_000;

/// One process with one thread; an object of 64 kB with a page of zero-filled memory and more, and files of other categories.
pub(crate) fn scene() -> Trace {
    Trace {
        run: Run {
            command: vec!["/usr/bin/app".into(), "--quick".into()],
            started: 1_795_308_420,
            layers: Layer::ALL.to_vec(),
            pages: PagesSeen::Each,
            state: StartState::Cold,
            ready_at: Some(Moment(100 * MS)),
            ended_at: Moment(100 * MS),
            readiness: "exit".to_owned(),
            kernel: "6.1.0".to_owned(),
            processors: 2,
            complete: true,
            ..Run::default()
        },
        processes: vec![TracedProcess {
            number: 7,
            program: "/usr/bin/app".into(),
            executed: true,
            ..TracedProcess::default()
        }],
        threads: vec![TracedThread { number: 7, process: ProcessId(0) }],
        files: vec![
            file("/usr/lib/libbig.so.1", FileCategory::Program, Some(0x11_000)),
            file("/usr/lib/libc.so.6", FileCategory::System, Some(0x4000)),
            file("/home/u/.config/app", FileCategory::Profile, Some(0x1000)),
        ],
        objects: vec![object()],
        phases: vec![
            phase(PhaseKind::Mapping, 1, 20),
            phase(PhaseKind::Relocation, 20, 30),
            phase(PhaseKind::Main, 30, 100),
        ],
        events: vec![
            touch(5, 1, Touch { execute: true, ..READ }),
            touch(10, 2, READ),
            touch(20, 8, Touch { write: Some(true), ..READ }),
            touch(21, 3, Touch { major: true, execute: true, ..READ }),
            touch(22, 4, Touch { write: None, ..READ }),
            touch(23, 0x20, Touch { zero_filled: true, write: Some(true), ..READ }),
            Event { pages: 4, ..event(40, 4, EventKind::Read) },
            Event { pages: 8, ..event(41, 0, EventKind::Fill(FillCause::Demand)) },
            event(42, 1, EventKind::Function),
        ],
        ..Trace::default()
    }
}

/// A touch that only read.
pub(crate) const READ: Touch = Touch {
    write: Some(false),
    execute: false,
    major: false,
    by_kernel: false,
    zero_filled: false,
    first_of_run: true,
};

pub(crate) fn file(path: &str, category: FileCategory, size: Option<u64>) -> TracedFile {
    let identity = size.map(|size| FileIdentity { size, modified: 0 });
    TracedFile { path: path.into(), device: 1, inode: 1, identity, category }
}

fn object() -> TracedObject {
    TracedObject {
        file: FileId(0),
        soname: Some("libbig.so".to_owned()),
        build_id: None,
        machine: 62,
        is_64_bit: true,
        entry: 0,
        segments: vec![
            ObjectSegment { address: 0, offset: 0, file_size: 0x8000, memory_size: 0x8000, flags: 5 },
            ObjectSegment { address: 0x18_000, offset: 0x8000, file_size: 0x8000, memory_size: 0xc800, flags: 6 },
        ],
        sections: vec![
            section(".text", 0x1000, 0x1000, 0x3000),
            section(".rodata", 0x4000, 0x4000, 0x4000),
            section(".data", 0x18_000, 0x8000, 0x8000),
            ObjectSection { is_zero_filled: true, ..section(".tbss", 0x20_000, 0x10_000, 0x40) },
            ObjectSection { is_zero_filled: true, ..section(".bss", 0x20_000, 0x10_000, 0x4800) },
        ],
        symbols: Vec::new(),
        relocations: Vec::new(),
    }
}

pub(crate) fn section(name: &str, address: u64, offset: u64, size: u64) -> ObjectSection {
    ObjectSection { name: name.to_owned(), address, offset, size, entry_size: 0, is_zero_filled: false }
}

/// Of the process; from one millisecond to another.
pub(crate) fn phase(kind: PhaseKind, begin: u64, end: u64) -> Phase {
    Phase {
        process: ProcessId(0),
        kind,
        file: None,
        address: None,
        begin: Moment(begin * MS),
        end: Moment(end * MS),
        parent: None,
        known: Known::Exactly,
    }
}

/// Of the first file, at a millisecond.
pub(crate) fn event(at: u64, page: u64, kind: EventKind) -> Event {
    Event { at: Moment(at * MS), thread: ThreadId(0), kind, file: Some(FileId(0)), page, pages: 1, code: None }
}

pub(crate) fn touch(at: u64, page: u64, touch: Touch) -> Event {
    event(at, page, EventKind::Touch(touch))
}

/// Names that want to do harm, as a path, a section's name, an argument and a kernel.
pub(crate) const HOSTILE: &str =
    "</text><script>alert(1)</script>\"'&\u{1b}[31m\u{0}\n\u{fffe}\u{ffff}\u{202e}]]>שלום日本";

/// Every name in it wants to do harm.
pub(crate) fn hostile() -> Trace {
    let mut trace = scene();
    // A path cannot hold a zero byte.
    let path = format!("/tmp/{}", HOSTILE.replace('\u{0}', "").replace('/', "∕"));
    trace.files.iter_mut().for_each(|file| file.path = path.clone().into());
    trace.run.command = vec![HOSTILE.into(); 3];
    trace.run.kernel = HOSTILE.to_owned();
    trace.run.readiness = HOSTILE.to_owned();
    trace.processes.iter_mut().for_each(|process| process.program = path.clone().into());
    for object in &mut trace.objects {
        object.soname = Some(HOSTILE.to_owned());
        object.sections.iter_mut().for_each(|section| section.name = HOSTILE.to_owned());
    }
    trace
}
