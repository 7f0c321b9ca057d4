//! That unknown is not zero, and that names of figures are what they promise to be.

use std::collections::BTreeSet;

use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, FillCause, Known, Moment, PagesSeen, Phase, PhaseKind, ProcessId, Run,
    ThreadId, Touch, TracedFile, TracedProcess, TracedThread,
};

use super::*;

fn trace() -> Trace {
    let file = TracedFile { path: "/a".into(), device: 1, inode: 1, identity: None, category: FileCategory::Program };
    let phase = |kind, begin, end| Phase {
        process: ProcessId(0),
        kind,
        file: None,
        address: None,
        begin: Moment(begin),
        end: Moment(end),
        parent: None,
        known: Known::Exactly,
    };
    let event = |at, kind, page| Event {
        at: Moment(at),
        thread: ThreadId(0),
        kind,
        file: Some(FileId(0)),
        page,
        pages: 1,
        code: None,
    };
    let major = EventKind::Touch(Touch { major: true, ..Touch::default() });
    Trace {
        run: Run {
            layers: Layer::ALL.to_vec(),
            pages: PagesSeen::Each,
            ready_at: Some(Moment(100)),
            complete: true,
            ..Run::default()
        },
        processes: vec![TracedProcess { number: 7, executed: true, ..TracedProcess::default() }],
        threads: vec![TracedThread { number: 7, process: ProcessId(0) }],
        files: vec![file],
        phases: vec![phase(PhaseKind::Relocation, 0, 30), phase(PhaseKind::Main, 30, 100)],
        events: vec![
            event(5, EventKind::Fill(FillCause::Demand), 4),
            event(6, major, 4),
            event(40, EventKind::Touch(Touch::default()), 2),
            event(50, EventKind::Function, 9),
        ],
        ..Trace::default()
    }
}

fn value(trace: &Trace, key: &str) -> Option<u64> {
    let groups = figure_groups(trace, &Figures::of(trace));
    let mut figures = groups.iter().flat_map(|group| &group.figures);
    figures.find(|figure| figure.key == key).unwrap_or_else(|| panic!("no figure {key}")).value
}

#[test]
fn figures_are_what_figures_say() {
    let trace = trace();
    let rows = [
        ("time.ready", 100),
        ("time.phase.relocation", 30),
        ("time.phase.main", 70),
        ("time.phase.dlopen", 0),
        ("time.all.relocation", 30),
        ("touches.all", 2),
        ("touches.before-main", 1),
        ("touches.major.before-main", 1),
        ("touches.major.after-main", 0),
        ("functions.after-main", 1),
        ("bytes.touched", 8192),
        ("bytes.filled", 4096),
        ("bytes.wasted", 0),
        ("requests.disk", 1),
        ("seeks.touches.all.backward", 8192),
        ("seeks.touches.all.backward-steps", 1),
        ("seeks.touches.before-main.total", 0),
        ("names.failed", 0),
    ];
    for (key, expected) in rows {
        assert_eq!(value(&trace, key), Some(expected), "{key}");
    }
}

#[test]
fn what_was_not_recorded_is_unknown() {
    let mut trace = trace();
    trace.run.layers = vec![Layer::Phases];
    trace.run.pages = PagesSeen::None;
    trace.run.ready_at = None;
    for key in
        ["touches.all", "functions.all", "bytes.filled", "bytes.wasted", "requests.disk", "names.lookups", "time.ready"]
    {
        assert_eq!(value(&trace, key), None, "{key}");
    }
    assert_eq!(value(&trace, "time.phase.main"), Some(70));
    trace.run.layers = Layer::ALL.to_vec();
    trace.run.pages = PagesSeen::FaultAround;
    trace.phases.clear();
    for key in
        ["touches.before-main", "seeks.touches.after-main.total", "bytes.wasted", "time.phase.main", "count.dlopens"]
    {
        assert_eq!(value(&trace, key), None, "{key}");
    }
    assert_eq!(value(&trace, "touches.all"), Some(2));
}

#[test]
fn without_root_reads_and_fills_are_unknown() {
    let mut trace = trace();
    // A kernel that does not tell reads tells fills.
    assert_eq!(value(&trace, "bytes.read"), None);
    assert_eq!(value(&trace, "bytes.filled"), Some(4096));
    trace.events.remove(0);
    for key in ["bytes.read", "bytes.filled", "bytes.filled.demand", "bytes.wasted", "requests.disk", "pages.used"] {
        assert_eq!(value(&trace, key), None, "{key}");
    }
    assert_eq!(value(&trace, "names.lookups"), Some(0));
    let file = FileNumbers::of(FileId(0), &Figures::of(&trace));
    assert_eq!((file.pages_read, file.pages_filled, file.requests, file.touches), (None, None, None, Some(2)));
    // As root, with all in the caches: only reads.
    let first_page = Event { kind: EventKind::Read, ..trace.events[0] };
    trace.events.insert(0, first_page);
    for (key, expected) in [("bytes.read", 4096), ("bytes.filled", 0), ("bytes.wasted", 0), ("requests.disk", 0)] {
        assert_eq!(value(&trace, key), Some(expected), "{key}");
    }
}

#[test]
fn keys_are_unique_and_the_same_in_all_traces() {
    let keys = |trace: &Trace| -> Vec<String> {
        let groups = figure_groups(trace, &Figures::of(trace));
        groups.into_iter().flat_map(|group| group.figures).map(|figure| figure.key).collect()
    };
    let (all, empty) = (keys(&trace()), keys(&Trace::default()));
    assert_eq!(all, empty);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

#[test]
fn they_are_written_as_the_page_reads_them() {
    let groups = serde_json::to_value(figure_groups(&trace(), &Figures::of(&trace()))).unwrap();
    let expected = serde_json::json!({
        "key": "time.ready", "label": "until it was ready", "value": 100, "unit": "nanoseconds", "lessIsBetter": true
    });
    assert_eq!(groups[0]["figures"][0], expected);
}
