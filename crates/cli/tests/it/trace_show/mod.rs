//! `coldstart trace show` and `trace sql` of a trace that is made by hand, so that every figure is known.

pub(crate) mod scene;

use std::path::Path;

use coldstart_profile::trace::{EventKind, Layer, PagesSeen, Phase, PhaseKind, ProcessId, RunEnd, Trace};
use scene::{Scene, coldstart, trace};
use serde_json::Value;

use crate::text;

#[test]
fn a_trace_is_summed_up() {
    insta::assert_snapshot!(Scene::new(&trace()).conversation(&["show", "app.coldtrace"]));
}

#[test]
fn parts_can_be_chosen_and_names_of_objects() {
    let scene = Scene::new(&trace());
    let of_app = ["show", "app.coldtrace", "--sections", "--objects", "--files", "--object", "app", "--limit", "1"];
    insta::assert_snapshot!(scene.conversation(&of_app));
    let phases = text(&scene.run(&["show", "app.coldtrace", "--phases"]).stdout);
    assert!(phases.contains("initialiser, 3 times (at most)") && !phases.contains("Sections"), "{phases}");
    let by_soname = text(&scene.run(&["show", "app.coldtrace", "--objects", "--object", "libbig.so.?"]).stdout);
    assert!(by_soname.contains("Objects: 1 object;"), "{by_soname}");
    assert!(!by_soname.contains("of that name"), "{by_soname}");
    let by_wrong_name = text(&scene.run(&["show", "app.coldtrace", "--objects", "--object", "big"]).stdout);
    assert!(by_wrong_name.contains("no object or file of that name in this start"), "{by_wrong_name}");
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let scene = Scene::new(&trace());
    for words in [&["show", "app.coldtrace", "--limit", "0"][..], &["sql", "app.coldtrace", "SELECT * FROM file"]] {
        let output = scene.run(words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!output.stdout.contains(&0x1b), "{}", text(&output.stdout).escape_debug());
    }
}

#[test]
fn a_trace_with_little_in_it_is_shown_all_the_same() {
    let scene = Scene::new(&Trace::default());
    let output = scene.run(&["show", "app.coldtrace"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("incomplete") && shown.contains("never"), "{shown}");
    assert!(!shown.contains("Phases") && !shown.contains("Jumps"), "{shown}");
}

#[test]
fn what_was_not_recorded_is_not_zero() {
    let mut coarse = trace();
    coarse.run.pages = PagesSeen::FaultAround;
    coarse.run.layers = vec![Layer::Pages];
    let shown = text(&Scene::new(&coarse).run(&["show", "app.coldtrace"]).stdout);
    assert!(shown.contains("touches not hidden by fault-around; some events are missing"), "{shown}");
    assert!(!shown.contains("unused") && !shown.contains("Jumps between functions"), "{shown}");
    let cells = |heading: &str| -> Vec<String> {
        let rows = shown.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
        let row = rows.skip_while(|line| !line.is_empty()).find(|line| line.contains("app/app"));
        row.unwrap().split_whitespace().map(str::to_owned).collect()
    };
    // 3 pages were touched; what was read, filled and wasted is not known.
    assert_eq!(cells("Files"), ["12.3", "kB", "-", "-", "-", "program", "/opt/app/app"]);
    assert_eq!(cells("Objects"), ["-", "-", "-", "4", "3", "30", "%", "/opt/app/app"]);
    assert_eq!(cells("Processes")[5..], ["9", "-", "-", "1", "exec", "/opt/app/app"]);
    let jumps = shown.lines().find(|line| line.contains("32.8 kB") && line.contains("app/app")).unwrap();
    assert_eq!(jumps.split_whitespace().skip(5).collect::<Vec<_>>(), ["-", "-", "/opt/app/app"]);
}

#[test]
fn without_root_nothing_is_said_of_reads_and_the_disk() {
    let mut unprivileged = trace();
    unprivileged.events.retain(|event| !matches!(event.kind, EventKind::Read | EventKind::Fill(_)));
    let scene = Scene::new(&unprivileged);
    let shown = text(&scene.run(&["show", "app.coldtrace"]).stdout);
    assert!(!shown.contains(" read, ") && !shown.contains("from the disk,"), "{shown}");
    let row =
        shown.lines().skip_while(|line| !line.starts_with("Files")).find(|line| line.contains("app/app")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["12.3", "kB", "-", "-", "-", "program", "/opt/app/app"]);
    let json: Value = serde_json::from_slice(&scene.run(&["show", "app.coldtrace", "--json"]).stdout).unwrap();
    assert_eq!(json["files_seen"], serde_json::json!({ "names": true, "reads": false, "fills": false }));
}

#[test]
fn an_object_of_several_processes_stands_once() {
    let mut twice = trace();
    let initialisers = twice.phases.iter().filter(|phase| phase.kind == PhaseKind::Initialiser);
    let of_another = |phase: &Phase| Phase { process: ProcessId(0), parent: None, ..phase.clone() };
    let others: Vec<Phase> = initialisers.map(of_another).collect();
    twice.phases.extend(others);
    let shown = text(&Scene::new(&twice).run(&["show", "app.coldtrace", "--initialisers"]).stdout);
    let rows: Vec<&str> = shown.lines().filter(|line| line.contains("mixed")).collect();
    assert_eq!(rows.len(), 1, "{shown}");
    let cells: Vec<&str> = rows[0].split_whitespace().take(9).collect();
    assert_eq!(cells, ["3.60", "ms", "6", "2", "32.8", "kB", "24.6", "kB", "mixed"]);
}

#[test]
fn of_a_recording_of_perf_nothing_is_said_that_perf_does_not_say() {
    let mut imported = trace();
    imported.run.readiness = "its end".to_owned();
    let ready = |trace: &Trace| {
        let scene = Scene::new(trace);
        let shown = text(&scene.run(&["show", "app.coldtrace", "--phases"]).stdout);
        let json: Value = serde_json::from_slice(&scene.run(&["show", "app.coldtrace", "--json"]).stdout).unwrap();
        assert_eq!(json["run"]["end"], Value::Null);
        shown.lines().find_map(|line| line.strip_prefix("  ready      ")).unwrap().to_owned()
    };
    assert_eq!(ready(&imported), "after 19.0 ms, when it ended; how it ended is unknown");
    imported.run.end = RunEnd::Interrupted;
    imported.run.ready_at = None;
    assert_eq!(ready(&imported), "unknown: the recording was over before it ended, after 20.0 ms");
}

#[test]
fn json_has_the_same_figures() {
    let scene = Scene::new(&trace());
    let output = scene.run(&["show", "app.coldtrace", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["schema"], "coldstart.trace-show/1");
    assert_eq!(shown["basis"]["pages"], "each");
    assert_eq!(shown["basis"]["lost_events"], 3);
    assert_eq!(shown["run"]["ready_nanoseconds"], 19_000_000);
    assert_eq!(shown["counts"]["failed_lookups"], 3);
    assert_eq!(shown["total"]["touches"]["relocation"]["all"], 4);
    assert_eq!(shown["processes"][1]["activity"]["touches"]["main"]["all"], 1);
    let file =
        |name: &str| shown["files"].as_array().unwrap().iter().find(|file| file["file"]["path"] == name).unwrap();
    let library = file("/opt/app/libbig.so.1\u{1b}[2J");
    assert_eq!(library["soname"], "libbig.so.1");
    assert_eq!(library["pages"]["filled"], 16);
    assert_eq!(library["pages"]["wasted"], 11);
    // 0 to 9, back to 1, on to 5, back to 2.
    assert_eq!(library["activity"]["touch_seeks"]["all"]["forward"], 13 * 4096);
    assert_eq!(library["activity"]["touch_seeks"]["all"]["backward"], 11 * 4096);
    assert_eq!(library["activity"]["function_seeks"]["all"]["forward"], 0x4000);
    assert_eq!(library["sections"][1]["name"], ".text");
    assert_eq!(library["sections"][1]["executed"], 3);
    assert_eq!(shown["initialisers"][0]["direction"], "mixed");
    assert_eq!(shown["phases"].as_array().unwrap().len(), 13);
    let limited = scene.run(&["show", "app.coldtrace", "--json", "--limit", "2"]);
    let limited: Value = serde_json::from_slice(&limited.stdout).unwrap();
    assert_eq!(limited["files"].as_array().unwrap().len(), 2);
}

#[test]
fn questions_are_answered_as_table_json_and_csv() {
    let scene = Scene::new(&trace());
    let question = "SELECT 'a,b' AS word, 7 AS number, NULL AS none, x'ff00' AS bytes";
    insta::assert_snapshot!(scene.conversation(&["sql", "app.coldtrace", question]), @r"
    code Some(0)
    word  number  none  bytes
    a,b        7        ff00
    --- stderr
    ");
    insta::assert_snapshot!(scene.conversation(&["sql", "app.coldtrace", question, "--csv"]), @r#"
    code Some(0)
    word,number,none,bytes
    "a,b",7,,ff00
    --- stderr
    "#);
    let output = scene.run(&["sql", "app.coldtrace", question, "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({
        "schema": "coldstart.trace-sql/1",
        "columns": ["word", "number", "none", "bytes"],
        "rows": [["a,b", 7, null, { "bytes": "ff00" }]],
    });
    assert_eq!(answer, expected);
    let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n";
    assert_eq!(text(&scene.run(&["sql", "app.coldtrace", long]).stdout).lines().count(), 5001);
}

#[test]
fn questions_do_not_change_the_file() {
    let scene = Scene::new(&trace());
    let before = std::fs::read(scene.folder.path().join("app.coldtrace")).unwrap();
    for question in ["DELETE FROM event", "SELECT", "SELECT 1; SELECT 2", "SELECT * FROM nowhere"] {
        let output = scene.run(&["sql", "app.coldtrace", question]);
        assert_eq!(output.status.code(), Some(2), "{question}");
        assert!(text(&output.stderr).contains("hint: "), "{}", text(&output.stderr));
    }
    assert_eq!(std::fs::read(scene.folder.path().join("app.coldtrace")).unwrap(), before);
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other"), "no trace").unwrap();
    for words in [["show", "other"], ["show", "absent"], ["show", "."]] {
        let output = coldstart(folder.path(), &words);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).starts_with("error: ") && output.stdout.is_empty(), "{}", text(&output.stderr));
    }
    assert!(Path::new(&folder.path().join("other")).exists());
}
