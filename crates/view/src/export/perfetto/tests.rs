use coldstart_profile::trace::{
    CodeAddress, FileId, Known, Load, Lookup, Moment, Phase, PhaseKind, ThreadId, Touch, TracedProcess, TracedThread,
};
use serde_json::Value;

use super::super::testing::{object, touch_of, trace_of};
use super::*;

fn written(traces: &[TraceExport<'_>]) -> Value {
    let mut out = Vec::new();
    let exported = write(traces, &mut out).unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["traceEvents"].as_array().unwrap().len() as u64, exported.records);
    json
}

fn phase(kind: PhaseKind, begin: u64, end: u64) -> Phase {
    Phase {
        process: ProcessId(0),
        kind,
        file: Some(FileId(0)),
        address: Some(0x1000),
        begin: Moment(begin),
        end: Moment(end),
        parent: None,
        known: Known::Exactly,
    }
}

fn start() -> Trace {
    let mut trace = trace_of(object(0));
    trace.run.ready_at = Some(Moment(1_234_567));
    trace.run.readiness = "exit".to_owned();
    trace.phases = vec![phase(PhaseKind::Initialiser, 1_000, 3_500)];
    trace.loads = vec![Load { process: ProcessId(0), file: FileId(0), bias: 0x5000, at: Moment(7) }];
    let code = Some(CodeAddress { file: FileId(0), address: 0x1010 });
    trace.events = vec![
        touch_of(1, Touch { major: true, write: Some(true), ..Touch::default() }),
        Event { kind: EventKind::Function, code, ..touch_of(1, Touch::default()) },
        Event { kind: EventKind::Read, file: None, pages: 3, ..touch_of(2, Touch::default()) },
    ];
    trace.lookups = vec![Lookup {
        at: Moment(9),
        process: None,
        path: "/nowhere/\"</script>\u{1}".into(),
        kind: LookupKind::Open,
        file: None,
        failed: true,
    }];
    trace
}

fn named<'a>(json: &'a Value, name: &str) -> &'a Value {
    let all = json["traceEvents"].as_array().unwrap();
    all.iter().find(|record| record["name"] == name).unwrap_or_else(|| panic!("{name} in {json:#}"))
}

#[test]
fn all_that_has_a_moment_is_there() {
    let trace = start();
    let json = written(&[TraceExport { source: "a", trace: &trace }]);
    let slice = named(&json, "initialiser first");
    assert_eq!((&slice["ph"], &slice["ts"], &slice["dur"]), (&"X".into(), &1.0.into(), &2.5.into()));
    assert_eq!((&slice["args"]["file"], &slice["args"]["address"]), (&"/opt/app".into(), &"0x1000".into()));
    assert_eq!((&slice["pid"], &slice["tid"]), (&100.into(), &100.into()));
    let ready = named(&json, "ready");
    assert_eq!((&ready["s"], &ready["ts"]), (&"g".into(), &1234.567.into()));
    let touch = named(&json, ".text app");
    assert_eq!((&touch["cat"], &touch["args"]["access"]), (&"major touch".into(), &"write".into()));
    assert_eq!(named(&json, "first")["cat"], "function");
    assert_eq!(named(&json, "(unnamed)")["args"]["bytes"], 3 * 4096);
    assert_eq!(named(&json, "/nowhere/\"</script>\u{1}")["cat"], "failed lookup");
    assert_eq!(named(&json, "mapped app")["args"]["load_bias"], "0x5000");
    assert_eq!(json["otherData"]["traces"][0]["events"], 3);
    let counter = json["traceEvents"].as_array().unwrap().iter().rfind(|record| record["ph"] == "C").unwrap();
    assert_eq!((&counter["name"], &counter["args"]["bytes"]), (&"read".into(), &(3 * 4096).into()));
}

#[test]
fn two_traces_share_no_number() {
    let trace = start();
    let json = written(&[TraceExport { source: "a", trace: &trace }, TraceExport { source: "b", trace: &trace }]);
    let processes = |of: &str| -> Vec<u64> {
        let all = json["traceEvents"].as_array().unwrap().iter();
        let names = all.filter(|record| record["name"] == "process_name");
        let of_trace = names.filter(|record| record["args"]["name"].as_str().unwrap().starts_with(of));
        of_trace.map(|record| record["pid"].as_u64().unwrap()).collect()
    };
    assert_eq!((processes("a: "), processes("b: ")), (vec![100], vec![1_000_000_100]));
    let numbers = json["traceEvents"].as_array().unwrap().iter().map(|record| record["tid"].as_u64().unwrap());
    assert!(numbers.max().unwrap() < u64::from(u32::MAX));
}

#[test]
fn what_executes_again_is_one_process_and_threads_have_names() {
    let mut trace = start();
    let next = TracedProcess { parent: Some(ProcessId(0)), program: "/opt/next".into(), ..trace.processes[0].clone() };
    trace.processes.push(next);
    trace.threads.push(TracedThread { number: 100, process: ProcessId(1) });
    trace.threads.push(TracedThread { number: 101, process: ProcessId(1) });
    trace.events.push(Event { thread: ThreadId(2), kind: EventKind::Function, ..touch_of(3, Touch::default()) });
    let json = written(&[TraceExport { source: "a", trace: &trace }]);
    assert_eq!(named(&json, "process_name")["args"]["name"], "app then next");
    let threads = json["traceEvents"].as_array().unwrap().iter();
    let thread = threads.filter(|record| record["name"] == "thread_name").find(|record| record["tid"] == 101).unwrap();
    assert_eq!((&thread["pid"], &thread["args"]["name"]), (&100.into(), &"thread".into()));
}

#[test]
fn what_could_not_be_seen_of_a_process_is_said() {
    let mut trace = start();
    trace.processes[0].notes = vec!["its locks".to_owned()];
    let json = written(&[TraceExport { source: "a", trace: &trace }]);
    let notes = json["otherData"]["traces"][0]["notes"].as_array().unwrap();
    assert_eq!(notes.last().unwrap(), "Of the process: its locks");
}

#[test]
fn a_trace_that_contradicts_itself_is_written() {
    let mut trace = start();
    let nobody = ThreadId(u32::MAX);
    trace.events = vec![Event {
        thread: nobody,
        at: Moment(u64::MAX),
        file: Some(FileId(9)),
        page: u64::MAX,
        pages: u32::MAX,
        ..trace.events[0]
    }];
    trace.phases = vec![Phase { process: ProcessId(7), ..phase(PhaseKind::Main, u64::MAX, 0) }];
    trace.loads[0].process = ProcessId(7);
    written(&[TraceExport { source: "a", trace: &trace }]);
    let empty = Trace::default();
    written(&[TraceExport { source: "a", trace: &empty }]);
    written(&[]);
}
