//! Pages, pictures and text, and what is said about them.

use std::process::Command;

use serde_json::Value;

use super::{Place, scene, text};

#[test]
fn each_kind_is_told_by_its_ending() {
    let place = Place::new();
    let words = ["app.coldtrace", "-o", "a.html", "-o", "b.svg", "-o", "c.PNG", "-o", "d.json", "--json"];
    let output = place.done(&words);
    let page = text(&place.read("a.html"));
    assert!(page.starts_with("<!doctype html>") && page.contains("coldstart-data-0"), "{}", &page[..200]);
    assert!(text(&place.read("b.svg")).contains("<svg"));
    assert!(place.read("c.PNG").starts_with(b"\x89PNG\r\n\x1a\n"));
    serde_json::from_slice::<Value>(&place.read("d.json")).unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["schema"], &report["traces"][0]["path"]),
        (&"coldstart.view/1".into(), &"app.coldtrace".into())
    );
    let written = report["written"].as_array().unwrap();
    let kinds: Vec<&str> = written.iter().map(|file| file["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["html", "svg", "png", "json"]);
    for file in written {
        let size = place.read(file["path"].as_str().unwrap()).len();
        assert_eq!(file["bytes"].as_u64(), Some(size as u64), "{file}");
    }
    assert_eq!(written[3]["format"], "perfetto");
    // The one with most touches, whose name has an escape in it.
    assert_eq!(report["object"], "/opt/app/libbig.so.1\\u{1b}[2J");
    assert!(text(&output.stderr).contains("wrote a.html ("), "{}", text(&output.stderr));
    assert_eq!(place.names(), ["a.html", "app.coldtrace", "b.svg", "c.PNG", "d.json"]);
}

#[test]
fn the_same_trace_makes_the_same_bytes() {
    let place = Place::new();
    let kinds = ["svg", "png", "json", "html"];
    for round in ["1", "2"] {
        for kind in kinds {
            place.done(&["app.coldtrace", "-o", &format!("{round}.{kind}")]);
        }
        place.done(&["app.coldtrace", "-o", &format!("{round}-f.json"), "--format", "firefox"]);
    }
    for kind in kinds.map(|kind| format!(".{kind}")).iter().chain([&"-f.json".to_owned()]) {
        assert!(place.read(&format!("1{kind}")) == place.read(&format!("2{kind}")), "{kind}");
    }
}

#[test]
fn pictures_have_the_size_and_theme_that_are_asked_for() {
    let place = Place::new();
    let size = |bytes: &[u8]| [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
    place.done(&["app.coldtrace", "-o", "a.png", "--size", "800x600", "--object", "app"]);
    assert_eq!(size(&place.read("a.png")), [1600, 1200]);
    place.done(&["app.coldtrace", "-o", "light.svg"]);
    place.done(&["app.coldtrace", "-o", "dark.svg", "--theme", "dark"]);
    assert_ne!(place.read("light.svg"), place.read("dark.svg"));
}

#[test]
fn stdout_takes_one_file() {
    let place = Place::new();
    place.done(&["app.coldtrace", "-o", "a.svg"]);
    let output = place.done(&["app.coldtrace", "-o", "-", "--as", "svg"]);
    assert!(output.stdout == place.read("a.svg"));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    for words in [
        &["app.coldtrace", "-o", "-"][..],
        &["app.coldtrace", "-o", "-", "--as", "svg", "--terminal"],
        &["app.coldtrace", "-o", "-", "--as", "svg", "--json"],
        &["app.coldtrace", "-o", "-", "--as", "csv"],
    ] {
        let output = place.run(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        // Of the refusal alone.
        assert!(!text(&output.stdout).contains("<svg"), "{words:?}: {said}");
        assert!(text(&output.stderr).contains("hint: "), "{words:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::new();
    let script =
        format!("{} view app.coldtrace -o - --as csv --table events | head -c1", env!("CARGO_BIN_EXE_coldstart"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(place.folder.path()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn without_a_file_the_start_is_shown_here() {
    let place = Place::new();
    let shown = place.done(&["app.coldtrace"]);
    assert_eq!(text(&shown.stdout), text(&place.done(&["app.coldtrace", "--terminal"]).stdout));
    assert!(text(&shown.stdout).contains("libbig.so.1"), "{}", text(&shown.stdout));
    // No colour in a pipe, and nothing of the names' own.
    assert!(!shown.stdout.contains(&0x1b), "{}", text(&shown.stdout).escape_debug());
    let coloured = place.done(&["app.coldtrace", "--terminal", "--color", "always"]);
    assert!(!text(&coloured.stdout).contains("\u{1b}[2J"));
    let both = place.done(&["app.coldtrace", "--terminal", "-o", "a.svg"]);
    assert_eq!(both.stdout, shown.stdout);
    assert_eq!(place.names(), ["a.svg", "app.coldtrace"]);
}

#[test]
fn two_traces_are_held_against_one_another() {
    let place = Place::new();
    let mut other = scene::trace();
    other.run.readiness = "exit".to_owned();
    other.events.truncate(9);
    place.add("other.coldtrace", &other);
    let both = ["app.coldtrace", "other.coldtrace"];
    let output = place.done(&[&both[..], &["-o", "a.html", "-o", "a.svg", "-o", "a.json", "--json"]].concat());
    assert!(text(&place.read("a.html")).contains("coldstart-data-1"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["traces"].as_array().unwrap().len(), 2);
    assert!(!report["caveats"].as_array().unwrap().is_empty());
    assert!(text(&output.stderr).contains("note: "), "{}", text(&output.stderr));
    let single = place.run(&[&both[..], &["--terminal"]].concat());
    assert_eq!(single.status.code(), Some(2));
    assert!(text(&single.stderr).contains("--open"), "{}", text(&single.stderr));
}
