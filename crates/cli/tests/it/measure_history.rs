//! What `coldstart measure` keeps, what stands in the way of keeping it, and what it compares with: real runs, few each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coldstart_testing::skip;
use serde_json::Value;

use coldstart_testing::copy_program;

use crate::text;

/// A folder of its own with a history in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn history(&self) -> PathBuf {
        self.at("history.sqlite")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.arg("measure").args(args).stdin(Stdio::null()).current_dir(self.folder.path());
        command.env("COLDSTART_HISTORY", self.history());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Measures `true` and gives what was said.
    fn measured(&self, args: &[&str]) -> Output {
        let output = self.run(&[&["--state", "hot", "--runs", "3"], args, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output
    }

    fn kept(&self) -> i64 {
        let connection = rusqlite::Connection::open(self.history()).unwrap();
        connection.query_row("SELECT count(*) FROM measurement", [], |row| row.get(0)).unwrap()
    }
}

fn assert_says(output: &Output, code: i32, words: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word} is missing in\n{said}");
    }
}

#[test]
fn what_was_measured_is_kept_shown_drawn_and_exported() {
    let place = Place::new();
    place.measured(&["--label", "v1"]);
    let second = place.measured(&["--label", "v2", "--json"]);
    let json: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!((&json["label"], &json["number"]), (&"v2".into(), &2.into()));
    assert!(json["programs"][0]["build_id"].as_str().is_some_and(|id| id.len() >= 8), "{}", json["programs"]);
    let third = place.measured(&[]);
    assert!(text(&third.stdout).contains("earlier hot: 2 measurements, median "), "{}", text(&third.stdout));
    assert_eq!(text(&third.stderr), "");

    let list = place.run(&["--history"]);
    assert_says(&list, 0, &[]);
    assert!(
        text(&list.stdout)
            .lines()
            .nth(1)
            .is_some_and(|line| line.trim_start().starts_with("3 ") && line.ends_with("true"))
    );
    let svg = place.at("trend.svg");
    let shown = place.run(&["--history", "true", "--svg", svg.to_str().unwrap()]);
    let table = text(&shown.stdout);
    for word in ["true, hot", "machine:", "#1", "v1", "v2", "#3", "medians: "] {
        assert!(table.contains(word), "{word} is missing in\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
    let picture = fs::read_to_string(&svg).unwrap();
    for word in ["<svg", "Times to ready: true", "ms", "v1", "whisker", "prefers-color-scheme:dark"] {
        assert!(picture.contains(word), "{word} is missing in\n{picture}");
    }
    let json: Value = serde_json::from_slice(&place.run(&["--history", "true", "--json"]).stdout).unwrap();
    assert_eq!(json["schema"], "coldstart.measure-history/1");
    assert_eq!(json["series"][0]["points"].as_array().unwrap().len(), 3);

    let csv = text(&place.run(&["--history", "true", "--export", "csv"]).stdout);
    let connection = rusqlite::Connection::open(place.history()).unwrap();
    let samples: i64 = connection.query_row("SELECT count(*) FROM sample", [], |row| row.get(0)).unwrap();
    let samples = usize::try_from(samples).unwrap();
    assert!(samples >= 12, "warm-ups are kept, too: {samples}");
    assert_eq!(csv.matches("\r\n").count(), samples + 1, "{csv}");
    let markdown = text(&place.run(&["--history", "true", "--export", "markdown"]).stdout);
    assert_eq!(markdown.lines().count(), 5, "{markdown}");
    let unknown = place.run(&["--history", "no-such-program"]);
    assert_says(&unknown, 2, &["no-such-program", "hint:"]);
}

#[test]
fn exports_of_the_current_measurement_are_tables_alone() {
    let place = Place::new();
    let output = place.run(&[
        "--no-history",
        "--state",
        "hot",
        "--runs",
        "3",
        "--export",
        "csv",
        "--",
        "sh",
        "-c",
        "exit 0 # \"a,b\"",
    ]);
    assert_says(&output, 0, &[]);
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.iter().filter(|row| &row[column("used")] == "counted").count(), 3);
    assert!(rows.iter().all(|row| row[column("command_line")].contains("\"a,b\"")), "{rows:?}");
    assert!(rows.iter().all(|row| row[column("seconds")].parse::<f64>().unwrap() > 0.0));
    assert!(!place.history().exists());
}

#[test]
fn without_a_place_measuring_goes_on() {
    let place = Place::new();
    let args = ["--state", "hot", "--runs", "2", "--", "true"];
    let output =
        place.command(&args).env_remove("COLDSTART_HISTORY").env_remove("HOME").env_remove("XDG_DATA_HOME").output();
    assert_says(&output.unwrap(), 0, &["note:", "HOME is not set", "--history-file"]);
    let mut command = place.command(&args);
    command.env_remove("COLDSTART_HISTORY").env_remove("XDG_DATA_HOME").env("HOME", place.at("home"));
    let output = command.output().unwrap();
    assert_says(&output, 0, &[]);
    assert!(place.at("home/.local/share/coldstart/history.sqlite").is_file());
}

#[test]
fn what_is_no_history_is_told_before_measuring() {
    let place = Place::new();
    let ran = place.at("ran");
    let script = format!("touch {}", ran.display());
    let args = ["--state", "hot", "--runs", "2", "--", "sh", "-c", &script];
    place.measured(&[]);
    let whole = fs::read(place.history()).unwrap();
    let check = |words: &[&str]| {
        let before = fs::read(place.history()).ok();
        assert_says(&place.run(&args), 2, words);
        assert!(!ran.exists(), "measured before saying so");
        assert_eq!(fs::read(place.history()).ok(), before, "the file was changed");
    };
    fs::write(place.history(), "something else".repeat(100)).unwrap();
    check(&["history.sqlite", "not a SQLite database", "--no-history"]);
    fs::write(place.history(), &whole[..whole.len() / 2]).unwrap();
    check(&["damaged", ".recover", "aside"]);
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&77u32.to_be_bytes());
    fs::write(place.history(), newer).unwrap();
    check(&["format 77", "formats up to 2", "hint:"]);
    let mut other = whole;
    other[68..72].copy_from_slice(&5u32.to_be_bytes());
    fs::write(place.history(), other).unwrap();
    check(&["another program's database"]);
    fs::remove_file(place.history()).unwrap();
    fs::create_dir(place.history()).unwrap();
    check(&["it is a directory"]);
    assert_says(&place.run(&[&["--no-history"], &args[..]].concat()), 0, &[]);
    assert!(ran.exists());
}

#[test]
fn a_place_that_may_not_be_written_is_told_and_measuring_goes_on() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become nobody");
    }
    let place = Place::new();
    place.measured(&[]);
    let program = place.at("coldstart");
    copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
    for open in [place.folder.path(), &program] {
        fs::set_permissions(open, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let as_nobody = |history: &Path| {
        Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(["measure", "--state", "hot", "--runs", "2", "--history-file"])
            .arg(history)
            .args(["--", "true"])
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    // The file, its directory, and a directory that cannot be made.
    fs::set_permissions(place.history(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for history in [place.history(), place.at("new.sqlite"), place.at("sub/new.sqlite")] {
        let output = as_nobody(&history);
        assert_says(&output, 0, &["note: this measurement will not be kept", &history.display().to_string(), "hint:"]);
        assert!(text(&output.stdout).contains("median"), "{}", text(&output.stdout));
    }
    // A file that may be written in a directory that may not: there is no room for its journal.
    fs::set_permissions(place.history(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    assert_says(&as_nobody(&place.history()), 0, &["note: this measurement will not be kept"]);
    assert_eq!(place.kept(), 1);
}

#[test]
fn a_measurement_that_cannot_be_kept_is_saved_and_taken_in_later() {
    let place = Place::new();
    place.measured(&[]);
    // The measured program has another one lock the history for good.
    let locker = "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); \
                  c.execute('BEGIN EXCLUSIVE'); open(sys.argv[1] + '.locked', 'w'); time.sleep(600)";
    let mut child = match Command::new("python3").args(["-c", locker]).arg(place.history()).spawn() {
        Ok(child) => child,
        Err(error) => return skip(&format!("needs python3: {error}")),
    };
    while !place.at("history.sqlite.locked").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = place.run(&["--state", "hot", "--runs", "3", "--label", "late", "--", "true"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_says(&output, 0, &["locked by another program", "trying again", "it is saved as", "--import"]);
    assert!(text(&output.stdout).contains("median"));
    assert_eq!(place.kept(), 1);
    let entries = fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let saved: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert_eq!(saved.len(), 1, "{saved:?}");
    let import = place.run(&["--import", saved[0].to_str().unwrap()]);
    assert_says(&import, 0, &[]);
    assert!(text(&import.stdout).contains("imported as #2"), "{}", text(&import.stdout));
    let again = place.run(&["--import", saved[0].to_str().unwrap()]);
    assert!(text(&again.stdout).contains("already in the history as #2"), "{}", text(&again.stdout));
    assert!(text(&place.run(&["--history", "true"]).stdout).contains("late"));
    fs::write(place.at("no.json"), "{}").unwrap();
    let wrong = place.run(&["--import", "no.json"]);
    assert_says(&wrong, 2, &["no.json", "schema", "hint:"]);
    assert_eq!(place.kept(), 2);
}

#[test]
fn a_disk_that_fills_up_meanwhile_loses_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to mount");
    }
    let place = Place::new();
    let disk = place.at("disk");
    fs::create_dir(&disk).unwrap();
    // The measured program fills the disk of the history.
    let script = format!(
        "mount -t tmpfs -o size=300k tmpfs {disk} && exec {program} measure --state hot --runs 3 --history-file \
         {disk}/h.sqlite -- sh -c 'cat /dev/zero > {disk}/fill; true'",
        disk = disk.display(),
        program = env!("CARGO_BIN_EXE_coldstart")
    );
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", &script]).current_dir(place.folder.path()).output().unwrap();
    if text(&output.stderr).contains("unshare failed") {
        return skip("may not unshare mounts");
    }
    assert_says(&output, 0, &["is full", "it is saved as", &place.folder.path().display().to_string()]);
    assert!(text(&output.stdout).contains("median"));
}

#[test]
fn two_at_once_are_both_kept() {
    let place = Place::new();
    let args = ["--state", "hot", "--runs", "3", "--", "true"];
    let children: Vec<_> =
        (0..3).map(|_| place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(place.kept(), 3);
}

/// A program that waits as many seconds as the file `delay` says: a busy machine hardly changes how long that takes.
fn waiting_program(place: &Place) -> String {
    fs::write(place.at("delay"), "0.2").unwrap();
    fs::write(place.at("program"), format!("#!/bin/sh\nsleep $(cat {})\n", place.at("delay").display())).unwrap();
    fs::set_permissions(place.at("program"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.at("program").display().to_string()
}

#[test]
fn a_gate_finds_what_became_much_slower_and_nothing_else() {
    let place = Place::new();
    let program = waiting_program(&place);
    // Of five runs one may be held up for seconds and moves nothing; of three it would.
    let measure =
        |args: &[&str]| place.run(&[&["--state", "hot", "--runs", "5"], args, &["--", program.as_str()]].concat());
    for _ in 0..6 {
        assert_says(&measure(&["--label", "base"]), 0, &[]);
    }
    let gate = ["--against", "base", "--fail-if-slower", "100", "--error-rate", "5"];
    let same = measure(&gate);
    assert_says(&same, 0, &[]);
    let shown = text(&same.stdout);
    for word in
        ["against base (6 measurements", "at least", "no slowdown shown", "passed:", "In 5 % of such gates", "80 %"]
    {
        assert!(shown.contains(word), "{word} is missing in\n{shown}");
    }
    let json: Value = serde_json::from_slice(&measure(&[&gate[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(json["gate"]["is_slower"], false);
    assert_eq!(json["gate"]["baseline_numbers"].as_array().unwrap().len(), 6);
    // Ten times as slow: found whatever else the machine does.
    fs::write(place.at("delay"), "2").unwrap();
    let slow = measure(&gate);
    assert_says(&slow, 1, &[]);
    assert!(
        text(&slow.stdout).contains("failed: A hot is shown to be more than 100 % slower"),
        "{}",
        text(&slow.stdout)
    );
    let last = measure(&["--against", "last"]);
    assert_says(&last, 0, &[]);
    assert!(text(&last.stdout).contains("The spread of sessions cannot be estimated"), "{}", text(&last.stdout));
    assert_says(&measure(&["--against", "#1", "--fail-if-slower", "100", "--error-rate", "5"]), 1, &[]);
}

#[test]
fn a_file_of_json_is_a_baseline_and_other_machines_are_not() {
    let place = Place::new();
    let json = place.measured(&["--no-history", "--json"]).stdout;
    fs::write(place.at("base.json"), &json).unwrap();
    place.measured(&["--no-history", "--against", "base.json", "--fail-if-slower", "2000"]);
    let other = text(&json).replace("\"kernel\": \"", "\"kernel\": \"other-");
    fs::write(place.at("other.json"), other).unwrap();
    let args = ["--no-history", "--state", "hot", "--runs", "3", "--against", "other.json", "--fail-if-slower", "2000"];
    let refused = place.run(&[&args[..], &["--", "true"]].concat());
    assert_says(&refused, 2, &["another machine", "kernel", "other-", "--accept-other-machine"]);
    assert!(text(&refused.stdout).contains("median"), "what was measured is shown all the same");
    let accepted = place.run(&[&args[..], &["--accept-other-machine", "--", "true"]].concat());
    assert_says(&accepted, 0, &[]);
    assert!(text(&accepted.stdout).contains("note: 1 measurement included although"), "{}", text(&accepted.stdout));
}

#[test]
fn a_baseline_of_which_a_part_is_another_program_is_noted() {
    let place = Place::new();
    let measured = |folder: &str, more: &[&str]| {
        let args = [&["--state", "hot", "--runs", "3"], more, &["--", "./server"]].concat();
        place.command(&args).current_dir(place.at(folder)).output().unwrap()
    };
    for folder in ["one", "two"] {
        fs::create_dir(place.at(folder)).unwrap();
        copy_program("/bin/true", place.at(folder).join("server"));
        measured(folder, &[]);
    }
    let compared = text(&measured("two", &["--against", "last:2"]).stdout);
    assert!(compared.contains("note: in 1 of the 2 measurements the program was"), "{compared}");
}

#[test]
fn what_cannot_be_compared_is_told_before_measuring() {
    let place = Place::new();
    place.measured(&["--label", "base"]);
    let ran = place.at("ran");
    let script = format!("touch {}", ran.display());
    for (args, words) in [
        (&["--against", "nothing", "--", "sh", "-c", &script][..], &["`nothing`", "hint:"][..]),
        (&["--against", "last:3", "--", "sh", "-c", &script], &["last:3", "has not been measured before"]),
        (&["--against", "#99", "--", "sh", "-c", &script], &["#99"]),
        (&["--against", "./no.json", "--", "sh", "-c", &script], &["./no.json"]),
        (&["--against", "base", "--ready", "stdout:x", "--", "sh", "-c", &script], &["readiness", "`exit`"]),
        (&["--fail-if-slower", "5", "--", "sh", "-c", &script], &["requires a baseline", "--compare"]),
        (&["--against", "last:x", "--", "true"], &["a number from 1"]),
        (&["--label", "#3", "--", "true"], &["--label"]),
        (&["--fail-if-slower", "-5", "--against", "base", "--", "true"], &["fail-if-slower"]),
    ] {
        let output = place.run(args);
        assert_says(&output, 2, words);
        assert!(!ran.exists(), "{args:?} measured first");
    }
    assert_eq!(place.kept(), 1);
    let few = place.run(&["--state", "hot", "--runs", "2", "--against", "base", "--fail-if-slower", "5", "--", "true"]);
    assert_says(&few, 2, &["fewer than 3 runs count", "hint:"]);
    let failed =
        place.run(&["--state", "hot", "--runs", "3", "--against", "base", "--fail-if-slower", "5", "--", "false"]);
    assert_says(&failed, 1, &["cannot compare"]);
}

#[test]
fn side_by_side_the_first_is_the_baseline() {
    let place = Place::new();
    // Both wait, one ten times as long, and a tenth is asked for: however busy the machine is, that much is left.
    let args = ["--state", "hot", "--runs", "5", "--fail-if-slower", "10", "--error-rate", "20"];
    let slower = place.run(&[&args[..], &["--compare", "sleep 2", "--", "sleep", "0.2"]].concat());
    assert_says(&slower, 1, &[]);
    let shown = text(&slower.stdout);
    assert!(
        shown.contains("failed: B hot is shown to be more than 10 % slower") && shown.contains("A (side by side)"),
        "{shown}"
    );
    let faster = place.run(&[&args[..], &["--compare", "true", "--", "sleep 0.3"]].concat());
    assert_eq!(faster.status.code(), Some(2), "a program of that name does not exist");
    let faster = place.run(&[&args[..], &["--compare", "true", "--", "sleep", "0.3"]].concat());
    assert_says(&faster, 0, &[]);
    assert!(text(&faster.stdout).contains("take turns"), "{}", text(&faster.stdout));
}

#[test]
fn the_help_names_every_option() {
    let place = Place::new();
    let help = text(&place.run(&["--help"]).stdout);
    let history = help.split("\nHistory:\n").nth(1).unwrap();
    let options = ["--label", "--history-file", "--no-history", "--history", "--svg", "--import"];
    let gate = ["--against", "--fail-if-slower", "--error-rate", "--accept-other-machine"];
    for option in options.iter().chain(&gate) {
        assert!(
            history.contains(&format!("      {option} ")) || history.contains(&format!("      {option}\n")),
            "{option}\n{help}"
        );
    }
}
