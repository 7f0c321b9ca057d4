//! Any bytes as a trace file: refused or read within a bounded number of steps, never a panic and never written. What can be read
//! can be shown: as a page, a map, text, other viewers' files, and held against itself.
//!
//! A database is kept together by its page headers, which a fuzzer hardly ever makes up. So the input is also taken as changes
//! to a trace that is whole: each three bytes, a place (two bytes, times 7 modulo the length) and what stands there.

#![no_main]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use coldstart_fuzz::memory::place;
use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, Known, Lookup, LookupKind, Moment, ObjectSection, ObjectSegment,
    ObjectSymbol, Phase, PhaseId, PhaseKind, ProcessId, ThreadId, Touch, Trace, TracedFile, TracedObject,
    TracedProcess, TracedThread,
};
use coldstart_tracefile::{TraceFile, write_trace};
use coldstart_view::export::{TraceExport, write_firefox, write_perfetto};
use coldstart_view::map::{MapOptions, ObjectMap, Overlay, choose};
use coldstart_view::page::{TraceSource, Viewer};
use coldstart_view::terminal::{self, Characters, TerminalOptions};
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| place("coldtrace"));

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let touch = EventKind::Touch(Touch { major: true, ..Touch::default() });
    let event = |at| Event {
        at: Moment(at),
        thread: ThreadId(0),
        kind: touch,
        file: Some(FileId(0)),
        page: at,
        pages: 1,
        code: None,
    };
    let lookup = |at| Lookup {
        at: Moment(at),
        process: None,
        path: format!("/missing/{at}").into(),
        kind: LookupKind::Open,
        file: None,
        failed: true,
    };
    let trace = Trace {
        processes: vec![TracedProcess::default()],
        files: vec![TracedFile {
            path: "/a".into(),
            device: 1,
            inode: 2,
            identity: None,
            category: FileCategory::Program,
        }],
        threads: vec![TracedThread { number: 1, process: ProcessId(0) }],
        objects: vec![object()],
        phases: vec![
            phase(PhaseKind::Exec, 0, 10, None),
            phase(PhaseKind::Dlopen, 10, 90, None),
            phase(PhaseKind::Initialiser, 20, 30, Some(PhaseId(1))),
        ],
        events: (0..500).map(event).collect(),
        lookups: (0..200).map(lookup).collect(),
        ..Trace::default()
    };
    write_trace(&PLACE, &trace).expect("the trace is written");
    std::fs::read(&*PLACE).expect("the trace is there")
});

fuzz_target!(|bytes: &[u8]| {
    let whole = &*WHOLE;
    read(bytes);
    let mut changed = whole.clone();
    for change in bytes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) * 7 % changed.len();
        changed[place] = change[2];
    }
    read(&changed);
});

fn read(bytes: &[u8]) {
    std::fs::write(&*PLACE, bytes).expect("there is room");
    if let Ok(mut file) = TraceFile::open(&PLACE) {
        if let (Ok(trace), _) = (file.read(), file.summary()) {
            show(&trace);
        }
        let limit = Some(Duration::from_millis(100));
        for view in ["touches", "files", "symbols", "lookups"] {
            let _ = file.query(&format!("SELECT * FROM {view}"), limit, |_| ControlFlow::Continue(()));
        }
    }
    assert!(std::fs::read(&*PLACE).is_ok_and(|there| there == bytes), "reading wrote");
}

fn object() -> TracedObject {
    let section = |name: &str, at| ObjectSection {
        name: name.to_owned(),
        address: at,
        offset: at,
        size: 0x8000,
        entry_size: 0,
        is_zero_filled: name == ".bss",
    };
    let symbol = |name: &str, address| ObjectSymbol { name: name.to_owned(), address, size: 0x100, is_function: true };
    TracedObject {
        file: FileId(0),
        soname: Some("a.so".to_owned()),
        build_id: Some("c0ffee".to_owned()),
        machine: 62,
        is_64_bit: true,
        entry: 0,
        segments: vec![ObjectSegment { address: 0, offset: 0, file_size: 0x10000, memory_size: 0x18000, flags: 5 }],
        sections: vec![section(".text", 0), section(".data", 0x8000), section(".bss", 0x10000)],
        symbols: vec![symbol("one", 0x1000), symbol("two", 0x2000)],
        relocations: Vec::new(),
    }
}

fn phase(kind: PhaseKind, begin: u64, end: u64, parent: Option<PhaseId>) -> Phase {
    Phase {
        process: ProcessId(0),
        kind,
        file: Some(FileId(0)),
        address: Some(0x1000),
        begin: Moment(begin),
        end: Moment(end),
        parent,
        known: Known::Exactly,
    }
}

fn show(trace: &Trace) {
    let figures = Figures::of(trace);
    let source = TraceSource { source: "x", trace, figures: &figures };
    // Without the viewer, which is the same each time.
    Viewer::new("", "").trace_page(&source, Some(&source)).expect("there is a page of what can be read");
    let export = [TraceExport { source: "x", trace }; 2];
    write_perfetto(&export, &mut std::io::sink()).expect("a sink takes all");
    write_firefox(&export, &mut std::io::sink()).expect("a sink takes all");
    let options =
        TerminalOptions { width: 60, characters: Characters::Ascii, colour: true, ..TerminalOptions::default() };
    let text = terminal::text("x", trace, &figures, &options).expect("no object was asked for");
    assert!(!text.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\u{1b}')), "{text:?}");
    if let Ok(file) = choose(trace, None) {
        let other = Some(Overlay { trace, file, label: None });
        let map = ObjectMap::of(trace, &figures, file, &MapOptions { other, ..MapOptions::default() });
        let drawn = map.expect("the file is one of the trace").svg();
        assert!(drawn.ends_with("</svg>\n") || drawn.ends_with("</svg>"));
    }
}
