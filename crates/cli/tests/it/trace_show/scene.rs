//! One start, made by hand: a script that becomes a program with two libraries, and a child.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{
    CodeAddress, Event, EventKind, FileCategory, FileId, FillCause, Known, Layer, Load, Lookup, LookupKind, Moment,
    ObjectSection, ObjectSegment, ObjectSymbol, PagesSeen, Phase, PhaseId, PhaseKind, ProcessId, Run, RunEnd,
    StartState, ThreadId, Touch, Trace, TracedFile, TracedObject, TracedProcess, TracedThread,
};
use coldstart_tracefile::write_trace;
use tempfile::TempDir;

/// A folder with the trace in it.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

impl Scene {
    pub(crate) fn new(trace: &Trace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_trace(&folder.path().join("app.coldtrace"), trace).unwrap();
        Self { folder }
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        coldstart(self.folder.path(), words)
    }

    /// Exit code, stdout, stderr.
    pub(crate) fn conversation(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("code {:?}\n{}--- stderr\n{}", output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

pub(crate) fn coldstart(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.arg("trace").args(words).current_dir(folder).env("COLUMNS", "100").stdin(Stdio::null());
    command.output().unwrap()
}

const MICROSECOND: u64 = 1000;

fn at(microseconds: u64) -> Moment {
    Moment(microseconds * MICROSECOND)
}

fn file(path: &str, inode: u64, size: u64, category: FileCategory) -> TracedFile {
    let identity = Some(FileIdentity { size, modified: 1 });
    TracedFile { path: path.into(), device: 8 << 20, inode, identity, category }
}

fn section(name: &str, address: u64, size: u64) -> ObjectSection {
    let is_zero_filled = name == ".bss";
    ObjectSection { name: name.to_owned(), address, offset: address, size, entry_size: 0, is_zero_filled }
}

fn object(file: u32, soname: Option<&str>) -> TracedObject {
    let symbol = |address, name: &str| ObjectSymbol { address, size: 16, name: name.to_owned(), is_function: true };
    TracedObject {
        file: FileId(file),
        soname: soname.map(str::to_owned),
        build_id: Some("c0ffee".to_owned()),
        machine: 62,
        is_64_bit: true,
        entry: 0x1000,
        segments: vec![ObjectSegment { address: 0, offset: 0, file_size: 0x9800, memory_size: 0xc000, flags: 7 }],
        sections: vec![
            section(".rela.dyn", 0x400, 0xc00),
            section(".text", 0x1000, 0x5000),
            section(".data", 0x9000, 0x800),
            section(".bss", 0x9800, 0x2800),
        ],
        symbols: vec![symbol(0x1000, "first_things"), symbol(0x2000, "a\u{1b}[31mred"), symbol(0x5000, "last")],
        relocations: Vec::new(),
    }
}

fn phase(kind: PhaseKind, begin: u64, end: u64, parent: Option<u32>) -> Phase {
    Phase {
        process: ProcessId(1),
        kind,
        file: None,
        address: None,
        begin: at(begin),
        end: at(end),
        parent: parent.map(PhaseId),
        known: Known::Exactly,
    }
}

fn initialiser(address: u64, begin: u64, end: u64, parent: u32) -> Phase {
    let phase = phase(PhaseKind::Initialiser, begin, end, Some(parent));
    Phase { file: Some(FileId(2)), address: Some(address), known: Known::EndAtMost, ..phase }
}

fn phases() -> Vec<Phase> {
    let of = |file, phase| Phase { file: Some(FileId(file)), ..phase };
    vec![
        phase(PhaseKind::Exec, 900, 1000, None),
        phase(PhaseKind::LoaderStart, 1000, 1200, None),
        phase(PhaseKind::Mapping, 1200, 2000, None),
        phase(PhaseKind::Relocation, 2000, 9000, None),
        of(2, phase(PhaseKind::Relocation, 2100, 8000, Some(3))),
        of(1, phase(PhaseKind::Relocation, 8000, 8800, Some(3))),
        phase(PhaseKind::Initialisers, 9000, 11_000, None),
        initialiser(0x1000, 9100, 9400, 6),
        initialiser(0x5000, 9400, 10_500, 6),
        initialiser(0x2000, 10_500, 10_900, 6),
        phase(PhaseKind::Runtime, 11_000, 11_100, None),
        phase(PhaseKind::Main, 11_100, 20_000, None),
        phase(PhaseKind::Dlopen, 12_000, 14_000, Some(11)),
    ]
}

fn event(microseconds: u64, file: u32, page: u64, kind: EventKind) -> Event {
    Event { at: at(microseconds), thread: ThreadId(1), kind, file: Some(FileId(file)), page, pages: 1, code: None }
}

fn events() -> Vec<Event> {
    let read = EventKind::Touch(Touch { write: Some(false), first_of_run: true, ..Touch::default() });
    let write = EventKind::Touch(Touch { write: Some(true), first_of_run: true, ..Touch::default() });
    let fetch = EventKind::Touch(Touch { execute: true, major: true, first_of_run: true, ..Touch::default() });
    let zeros = EventKind::Touch(Touch { write: Some(true), zero_filled: true, ..Touch::default() });
    let called = |microseconds, address: u64| Event {
        code: Some(CodeAddress { file: FileId(2), address }),
        ..event(microseconds, 2, address / 4096, EventKind::Function)
    };
    let wide = |pages, event: Event| Event { pages, ..event };
    vec![
        Event { thread: ThreadId(0), ..event(100, 0, 0, read) },
        wide(8, event(2000, 2, 0, EventKind::Fill(FillCause::Demand))),
        wide(8, event(2050, 2, 8, EventKind::Fill(FillCause::Readahead))),
        event(2100, 2, 0, read),
        event(2200, 2, 9, write),
        event(2300, 2, 10, zeros),
        event(8100, 1, 9, write),
        event(9100, 2, 1, fetch),
        called(9101, 0x1000),
        event(9400, 2, 5, fetch),
        called(9401, 0x5000),
        event(10_500, 2, 2, fetch),
        called(10_501, 0x2000),
        event(11_200, 1, 1, fetch),
        wide(32, event(12_000, 3, 0, EventKind::Fill(FillCause::Readahead))),
        wide(4, event(12_100, 3, 0, EventKind::Read)),
        event(13_000, 1, 4, fetch),
        Event { thread: ThreadId(2), ..event(15_000, 1, 4, fetch) },
    ]
}

fn lookup(microseconds: u64, path: &str, failed: bool) -> Lookup {
    Lookup {
        at: at(microseconds),
        process: Some(ProcessId(1)),
        path: path.into(),
        kind: LookupKind::Open,
        file: None,
        failed,
    }
}

pub(crate) fn trace() -> Trace {
    let process = |number, parent: Option<u32>, program: &str, began, executed| TracedProcess {
        number,
        parent: parent.map(ProcessId),
        program: program.into(),
        arguments: vec![program.into()],
        began: at(began),
        ended: Some(at(20_000)),
        executed,
        pages: PagesSeen::Each,
        notes: Vec::new(),
    };
    let mut child = process(4712, Some(1), "/opt/app/app", 14_500, false);
    child.ended = None;
    child.notes = vec!["a \u{1b}[31mfork: its maker's pages are touched already".to_owned()];
    Trace {
        run: Run {
            command: vec!["/opt/app/start".into(), "a\nb".into()],
            started: 1_795_308_420,
            layers: Layer::ALL.to_vec(),
            pages: PagesSeen::Each,
            state: StartState::Cold,
            ready_at: Some(at(19_000)),
            ended_at: at(20_000),
            end: RunEnd::EndedWhenReady,
            readiness: "port:8080".to_owned(),
            lost_events: 3,
            stops: 214,
            stopped: 3_200_000,
            kernel: "6.18.0".to_owned(),
            processors: 2,
            complete: true,
            notes: vec!["symbols of one object could not be read".to_owned()],
        },
        processes: vec![
            process(4711, None, "/bin/sh", 0, true),
            process(4711, Some(0), "/opt/app/app", 1000, true),
            child,
        ],
        threads: [(4711, 0), (4711, 1), (4712, 2)]
            .map(|(number, process)| TracedThread { number, process: ProcessId(process) })
            .to_vec(),
        files: vec![
            file("/bin/sh", 10, 125_000, FileCategory::System),
            file("/opt/app/app", 11, 0x9800, FileCategory::Program),
            file("/opt/app/libbig.so.1\u{1b}[2J", 12, 0x10_000, FileCategory::Program),
            file("/opt/app/omni.ja", 13, 131_072, FileCategory::Program),
        ],
        objects: vec![object(1, None), object(2, Some("libbig.so.1"))],
        loads: vec![Load { process: ProcessId(1), file: FileId(2), bias: 0x7f00_0000_0000, at: at(1300) }],
        phases: phases(),
        events: events(),
        lookups: vec![
            lookup(1210, "/usr/lib/libbig.so.1", true),
            lookup(1220, "/usr/lib/x86-64-v3/libbig.so.1", true),
            lookup(1230, "/usr/lib/libother.so", true),
            lookup(1240, "/opt/app/libbig.so.1", false),
        ],
    }
}
