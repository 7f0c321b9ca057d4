//! Other viewers' files and tables, held against what the trace holds.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use coldstart_profile::trace::Trace;
use serde_json::Value;

use super::{Place, command, scene, text};

/// Rows of a table, the names of its columns first.
fn rows(place: &Place, name: &str) -> Vec<Vec<String>> {
    // By another reader of such files than the one that wrote it.
    let script = "import csv, json, sys\nprint(json.dumps(list(csv.reader(open(sys.argv[1], newline='')))))";
    let output = Command::new("python3").args(["-c", script]).arg(place.path(name)).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn perfetto_has_every_event() {
    let place = Place::new();
    place.done(&["app.coldtrace", "-o", "a.json"]);
    let json: Value = serde_json::from_slice(&place.read("a.json")).unwrap();
    let records = json["traceEvents"].as_array().unwrap();
    let of_phase = |phase: &str| records.iter().filter(|record| record["ph"] == phase).count();
    let trace = scene::trace();
    assert_eq!(of_phase("X"), trace.phases.len());
    assert_eq!(of_phase("i"), trace.events.len() + trace.lookups.len() + trace.loads.len() + 1);
    assert_eq!(json["otherData"]["traces"][0]["lost_events"], 3);
    let processes: Vec<&Value> = records.iter().filter(|record| record["name"] == "process_name").collect();
    assert_eq!(processes.len(), 2, "an image that was executed is the same process");
    assert_eq!(processes[0]["args"]["name"], "sh then app");
}

#[test]
fn firefox_has_every_event() {
    let place = Place::new();
    place.done(&["app.coldtrace", "-o", "a.json", "--format", "firefox"]);
    let json: Value = serde_json::from_slice(&place.read("a.json")).unwrap();
    let threads = json["threads"].as_array().unwrap();
    let markers: u64 = threads.iter().map(|thread| thread["markers"]["length"].as_u64().unwrap()).sum();
    let trace = scene::trace();
    let expected = trace.events.len() + trace.lookups.len() + trace.loads.len() + trace.phases.len() + 1;
    assert_eq!(markers, expected as u64);
    assert_eq!(json["meta"]["markerSchema"].as_array().unwrap().len(), 4);
}

#[test]
fn every_table_is_written() {
    let place = Place::new();
    let listed = text(&place.done(&["app.coldtrace", "--table", "list"]).stdout);
    let tables: Vec<&str> = listed.lines().collect();
    place.done(&["app.coldtrace", "-o", "t.csv"]);
    for table in &tables {
        let name = format!("t-{table}.csv");
        let rows = rows(&place, &name);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}");
        place.done(&["app.coldtrace", "-o", "one.csv", "--table", table]);
        assert_eq!(place.read("one.csv"), place.read(&name), "{name}");
    }
    let trace = scene::trace();
    assert_eq!(rows(&place, "t-events.csv").len(), trace.events.len() + 1);
    assert_eq!(rows(&place, "t-phases.csv").len(), trace.phases.len() + 1);
    assert_eq!(place.names().len(), tables.len() + 2);
    let initialisers = rows(&place, "t-initialisers.csv");
    let column = |name: &str| initialisers[0].iter().position(|column| column == name).unwrap();
    let jumps: Vec<&str> = initialisers[1..].iter().map(|row| row[column("jump")].as_str()).collect();
    assert_eq!(jumps, ["", "16384", "-12288"]);
    // A name with an escape in it is data here, as it is.
    assert_eq!(initialisers[3][column("symbol")], "a\u{1b}[31mred");
}

#[test]
fn what_needs_quotes_has_them_and_bytes_are_told_apart() {
    let mut trace = scene::trace();
    trace.files[3].path = "/opt/a,\"b\"\nc".into();
    trace.files[0].path = OsString::from_vec(b"/bin/\xff".to_vec()).into();
    let place = Place::with(&trace);
    place.done(&["app.coldtrace", "-o", "f.csv", "--table", "files"]);
    let paths: Vec<String> = rows(&place, "f.csv")[1..].iter().map(|row| row[1].clone()).collect();
    assert!(paths.contains(&"/opt/a,\"b\"\nc".to_owned()), "{paths:?}");
    assert!(paths.contains(&"x'2f62696e2fff'".to_owned()), "{paths:?}");
    place.done(&["app.coldtrace", "app.coldtrace", "-o", "c.csv", "--table", "changes"]);
    let changes: Vec<String> = rows(&place, "c.csv")[1..].iter().map(|row| row[1].clone()).collect();
    assert!(changes.contains(&"x'2f62696e2fff'".to_owned()), "{changes:?}");
}

#[test]
fn changes_of_two_traces_are_a_table() {
    let place = Place::new();
    let mut other = scene::trace();
    other.events.retain(|event| event.file.is_none_or(|file| file.0 != 3));
    other.files[3].path = "/opt/app/another".into();
    other.files[3].inode = 99;
    place.add("other.coldtrace", &other);
    place.done(&["app.coldtrace", "other.coldtrace", "-o", "t.csv"]);
    let changes = rows(&place, "t-changes.csv");
    let there: Vec<(&str, &str)> = changes[1..].iter().map(|row| (row[2].as_str(), row[0].as_str())).collect();
    assert!(there.contains(&("first", "/opt/app/omni.ja")) && there.contains(&("other", "")), "{there:?}");
    let figures = rows(&place, "t-figures.csv");
    assert_eq!(figures[0].last().unwrap(), "change");
    assert!(figures[1..].iter().any(|row| row[6].starts_with('-')), "{figures:?}");
    assert!(place.names().contains(&"t-other-touches.csv".to_owned()));
    let refused = place.run(&["app.coldtrace", "other.coldtrace", "-o", "t.csv", "--table", "touches"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_real_start_becomes_everything() {
    let place = Place::with(&Trace::default());
    let traced = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["trace", "--layers", "phases,pages", "-o", "true.coldtrace", "--", "/bin/true"])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    if !place.path("true.coldtrace").exists() {
        return super::skip(&format!("nothing can be traced here: {}", text(&traced.stderr)));
    }
    // The one made by hand is nearly empty: nothing may stumble over that.
    for (trace, out) in [("true.coldtrace", "real"), ("app.coldtrace", "empty")] {
        for ending in ["html", "json", "csv"] {
            place.done(&[trace, "-o", &format!("{out}.{ending}")]);
        }
        place.done(&[trace, "-o", &format!("{out}-f.json"), "--format", "firefox"]);
    }
    let json = text(&place.read("real.json"));
    assert!(json.contains("\"main\"") && json.contains("touched first"));
    let nothing = command(place.folder.path()).args(["app.coldtrace", "-o", "a.svg"]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("nothing to map"), "{}", text(&nothing.stderr));
}
