//! The figures in `docs/formats/trace.md`:
//! `cargo test --release -p coldstart-tracefile --test it figures -- --ignored --nocapture`

use std::ops::ControlFlow;
use std::time::Instant;

use coldstart_tracefile::{Answer, TraceFile, write_trace};

#[test]
#[ignore = "prints figures, asserts nothing"]
fn figures() {
    let folder = tempfile::tempdir().unwrap();
    for events in [2_000, 30_000, 300_000, 1_000_000] {
        let path = folder.path().join(events.to_string());
        let trace = crate::common::large(events);
        let symbols: usize = trace.objects.iter().map(|object| object.symbols.len()).sum();
        let begin = Instant::now();
        let written = write_trace(&path, &trace).unwrap();
        println!(
            "{events} events, {symbols} symbols: {} bytes, {:.1} an event; written in {:?}",
            written.bytes,
            written.bytes as f64 / f64::from(events),
            begin.elapsed()
        );
        for round in 0..2 {
            let begin = Instant::now();
            let file = TraceFile::open(&path).unwrap();
            let open = begin.elapsed();
            let summary = file.summary().unwrap();
            println!(
                "  round {round}: opened in {open:?}, with summary {:?}; {} touches",
                begin.elapsed(),
                summary.all.touches
            );
        }
        if let Some(kept) = std::env::var_os("KEEP_TRACES") {
            std::fs::copy(&path, std::path::Path::new(&kept).join(format!("{events}.coldtrace"))).unwrap();
        }
        let begin = Instant::now();
        let file = TraceFile::open(&path).unwrap();
        file.head().unwrap();
        println!("  all but events and lookups read in {:?}", begin.elapsed());
        let begin = Instant::now();
        file.events(|_| ControlFlow::Continue(())).unwrap();
        println!("  events read in {:?}", begin.elapsed());
        let begin = Instant::now();
        assert!(TraceFile::open(&path).unwrap().read().unwrap() == trace);
        println!("  read in {:?}", begin.elapsed());
        let questions = ["touches", "functions", "fills", "lookups", "phases", "files", "sections", "symbols"]
            .map(|view| format!("SELECT * FROM {view}"));
        for question in questions {
            let (begin, mut rows) = (Instant::now(), 0_u64);
            let mut file = TraceFile::open(&path).unwrap();
            let count = |answer: Answer<'_>| {
                rows += u64::from(matches!(answer, Answer::Row(_)));
                ControlFlow::Continue(())
            };
            file.query(&question, None, count).unwrap();
            println!("  {question}: {rows} rows in {:?}", begin.elapsed());
        }
    }
}
