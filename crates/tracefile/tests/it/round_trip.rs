//! What is written is read again, all of it.

use std::ops::ControlFlow;

use coldstart_profile::trace::{Moment, Trace};
use coldstart_tracefile::{TraceFile, write_trace};
use proptest::prelude::*;

use crate::common::{any, large, small};

fn there_and_back(trace: &Trace) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b?#%.coldtrace");
    let written = write_trace(&path, trace).unwrap();
    assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something is left beside it");
    TraceFile::open(&path).unwrap().read().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_trace(trace in any::trace()) {
        prop_assert_eq!(there_and_back(&trace), trace);
    }
}

#[test]
fn traces_of_all_sizes() {
    for trace in [Trace::default(), small(), large(30_000)] {
        assert!(there_and_back(&trace) == trace);
    }
}

#[test]
fn more_events_in_a_nanosecond_than_there_are_numbers() {
    let mut trace = small();
    let one = trace.events[1];
    trace.events = vec![one; 1000];
    trace.events.extend((0..100).map(|later| coldstart_profile::trace::Event { at: Moment(one.at.0 + later), ..one }));
    assert!(there_and_back(&trace) == trace);
}

#[test]
fn a_trace_is_replaced_with_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write_trace(&path, &small()).unwrap();
    std::fs::write(folder.path().join("t-journal"), "of the old file").unwrap();
    let other = large(100);
    write_trace(&path, &other).unwrap();
    assert!(TraceFile::open(&path).unwrap().read().unwrap() == other);
    assert!(!folder.path().join("t-journal").exists());
}

#[test]
fn nothing_but_a_trace_or_an_empty_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text"), "a user's").unwrap();
    assert!(write_trace(&at("text"), &small()).unwrap_err().to_string().contains("is not a trace"));
    rusqlite::Connection::open(at("other")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(write_trace(&at("other"), &small()).is_err());
    // Not through a link either, which is replaced.
    std::os::unix::fs::symlink("text", at("link")).unwrap();
    write_trace(&at("link"), &small()).unwrap();
    assert!(std::fs::symlink_metadata(at("link")).unwrap().is_file());
    assert_eq!(std::fs::read(at("text")).unwrap(), b"a user's");
    std::fs::write(at("empty"), "").unwrap();
    write_trace(&at("empty"), &small()).unwrap();
    // What would be played into the trace, and is a user's file here.
    std::fs::write(at("new-wal"), "a user's").unwrap();
    let error = write_trace(&at("new"), &small()).unwrap_err();
    assert!(error.to_string().contains("new-wal` exists"), "{error}");
    assert!(!at("new").exists() && at("new-wal").exists());
}

#[test]
fn about_and_head_and_events_are_parts_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let trace = large(10_000);
    write_trace(&path, &trace).unwrap();
    let file = TraceFile::open(&path).unwrap();
    let about = file.about().unwrap();
    assert_eq!((about.events, about.events_expected), (10_000, 10_000));
    assert_eq!((about.lookups, about.lookups_expected), (250, 250));
    assert_eq!(about.coldstart, env!("CARGO_PKG_VERSION"));
    assert!(file.head().unwrap() == Trace { events: Vec::new(), lookups: Vec::new(), ..trace.clone() });
    let mut taken = Vec::new();
    file.events(|event| {
        taken.push(*event);
        if taken.len() == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(taken, trace.events[..9]);
}

#[test]
fn the_summary_counts_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write_trace(&path, &small()).unwrap();
    let summary = TraceFile::open(&path).unwrap().summary().unwrap();
    let all = summary.all;
    assert_eq!((all.touches, all.major_faults, all.pages_touched, all.functions), (5, 2, 4, 2));
    assert_eq!((all.reads, all.pages_read, all.pages_filled), (1, 4, 10));
    // Relocation, initialisers without the one within them, that one, main.
    let touches: Vec<_> = summary.phases.iter().map(|counts| (counts.touches, counts.functions)).collect();
    assert_eq!(touches, [(2, 0), (0, 0), (2, 1), (1, 1)]);
    assert_eq!(summary.outside.pages_filled, 1);
    // The program's pages 3, 2, 2: from behind page 3 two back, then one back.
    assert_eq!((summary.files[0].1.forward, summary.files[0].1.backward), (0, 3 * 4096));
    assert_eq!(summary.files[2].0.pages_read, 4);
    assert_eq!(summary.head.phases, small().phases);
}
