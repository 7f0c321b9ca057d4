use coldstart_profile::trace::{
    CodeAddress, FileId, FillCause, Known, Load, Lookup, LookupKind, Moment, PhaseKind, ThreadId, Touch, TracedThread,
};
use serde_json::Value;

use super::super::testing::{object, touch_of, trace_of};
use super::*;

fn written(traces: &[TraceExport<'_>]) -> Value {
    let mut out = Vec::new();
    write(traces, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn start() -> Trace {
    let mut trace = trace_of(object(0));
    trace.threads.push(TracedThread { number: 101, process: ProcessId(0) });
    trace.run.ready_at = Some(Moment(5_000_000));
    let code = Some(CodeAddress { file: FileId(0), address: 0x1010 });
    trace.phases = vec![Phase {
        process: ProcessId(0),
        kind: PhaseKind::Initialiser,
        file: Some(FileId(0)),
        address: Some(0x1000),
        begin: Moment(1_000_000),
        end: Moment(3_500_000),
        parent: None,
        known: Known::Exactly,
    }];
    trace.loads = vec![Load { process: ProcessId(0), file: FileId(0), bias: 0x5000, at: Moment(7) }];
    trace.events = vec![
        Event { code, ..touch_of(1, Touch { major: true, ..Touch::default() }) },
        Event { kind: EventKind::Function, code, thread: ThreadId(1), ..touch_of(1, Touch::default()) },
        Event { kind: EventKind::Fill(FillCause::Readahead), file: None, pages: 3, ..touch_of(2, Touch::default()) },
    ];
    let path = "/nowhere/\"</script>\u{1}".into();
    trace.lookups =
        vec![Lookup { at: Moment(9), process: None, path, kind: LookupKind::Open, file: None, failed: true }];
    trace
}

fn strings(thread: &Value) -> Vec<&str> {
    thread["stringArray"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Names of markers, in the order of the table.
fn marker_names(thread: &Value) -> Vec<&str> {
    let strings = strings(thread);
    let names = thread["markers"]["name"].as_array().unwrap().iter();
    names.map(|name| strings[usize::try_from(name.as_u64().unwrap()).unwrap()]).collect()
}

#[test]
fn phases_are_intervals_and_all_else_instants_on_its_thread() {
    let trace = start();
    let json = written(&[TraceExport { source: "a", trace: &trace }]);
    let threads = json["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    let names =
        ["ready", "initialiser", "object mapped", "touch that waited for the disk", "from the disk", "name not found"];
    assert_eq!(marker_names(&threads[0]), names);
    assert_eq!(marker_names(&threads[1]), ["first call"]);
    let markers = &threads[0]["markers"];
    assert_eq!(
        (&markers["startTime"][1], &markers["endTime"][1], &markers["phase"][1]),
        (&1.0.into(), &3.5.into(), &1.into())
    );
    let data = &markers["data"][3];
    assert_eq!((&data["file"], &data["page"]), (&"/opt/app".into(), &1.0.into()));
    assert!(data["cause"]["stack"].is_u64(), "{data}");
    assert_eq!(json["libs"][0]["codeId"], "0123456789abcdef0123456789abcdef01234567");
    assert!(strings(&threads[1]).contains(&"first"));
    assert_eq!(json["counters"].as_array().unwrap().len(), 3);
}

#[test]
fn two_traces_stand_side_by_side_and_odd_ones_are_written() {
    let trace = start();
    let json = written(&[TraceExport { source: "a", trace: &trace }, TraceExport { source: "b", trace: &trace }]);
    let processes: Vec<&str> =
        json["threads"].as_array().unwrap().iter().map(|thread| thread["processName"].as_str().unwrap()).collect();
    assert_eq!(processes, ["a: app", "a: app", "b: app", "b: app"]);
    let mut odd = start();
    let nobody = ThreadId(u32::MAX);
    odd.events = vec![Event {
        thread: nobody,
        at: Moment(u64::MAX),
        file: Some(FileId(9)),
        page: u64::MAX,
        pages: u32::MAX,
        ..odd.events[0]
    }];
    odd.events[0].code = Some(CodeAddress { file: FileId(0), address: u64::MAX });
    odd.phases[0].process = ProcessId(9);
    odd.phases[0].end = Moment(0);
    odd.threads[1].process = ProcessId(9);
    written(&[TraceExport { source: "a", trace: &odd }]);
    odd.processes.clear();
    odd.objects.clear();
    written(&[TraceExport { source: "a", trace: &odd }, TraceExport { source: "b", trace: &Trace::default() }]);
    written(&[]);
}
