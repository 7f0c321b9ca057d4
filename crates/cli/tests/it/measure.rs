//! `coldstart measure` as it is used: real programs, real caches, and programs that misbehave.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::{ProcessFiles, numbers};
use coldstart_testing::skip;
use serde_json::Value;

use coldstart_testing::copy_program;

use crate::text;

fn measure() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    // Not the history of whoever runs the tests.
    let history = concat!(env!("CARGO_TARGET_TMPDIR"), "/measure-history.sqlite");
    command.arg("measure").env("COLDSTART_HISTORY", history).stdin(Stdio::null());
    command
}

fn output(args: &[&str]) -> Output {
    measure().args(args).output().unwrap()
}

fn json(args: &[&str]) -> (Value, Output) {
    let output = measure().arg("--json").args(args).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

/// Processes whose environment holds this word.
fn processes_with(word: &str) -> Vec<String> {
    let holds = |number: &u32| {
        ProcessFiles::of(*number).environment().iter().any(|variable| variable.to_string_lossy().contains(word))
    };
    numbers().unwrap().into_iter().filter(holds).map(|number| number.to_string()).collect()
}

#[test]
fn hot_runs_are_counted_and_told() {
    let (json, output) = json(&["--state", "hot", "--runs", "5", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json["schema"], "coldstart.measure/1");
    let summary = &json["summaries"][0];
    assert_eq!((&summary["state"], summary["counted"].as_u64()), (&Value::from("hot"), Some(5)));
    assert!(summary["median"].as_f64().unwrap() > 0.0);
    assert_eq!(summary["mean_interval"]["confidence"], 0.95);
    assert!(json["machine"]["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()));
}

#[test]
fn the_table_names_state_runs_and_machine_and_fits_a_terminal() {
    // Not kept: a history that other tests hold for long is told on stderr.
    let output =
        output(&["--no-history", "--state", "hot", "--runs", "3", "--compare", "sh -c 'exit 0'", "--", "true"]);
    let shown = text(&output.stdout);
    for word in
        ["machine:", "Linux", "A: true", "B: sh -c 'exit 0'", "median", "hot: B takes", "resident before launch"]
    {
        assert!(shown.contains(word), "{word} is missing in\n{shown}");
    }
    let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest} columns:\n{shown}");
    assert_eq!(text(&output.stderr), "", "no progress bar without a terminal");
}

#[test]
fn a_selective_start_reads_what_was_evicted() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = folder.path().join("data");
    fs::write(&data, vec![1; 8 << 20]).unwrap();
    fs::File::open(&data).unwrap().sync_all().unwrap();
    let (json, output) =
        json(&["--state", "selective", "--state", "hot", "--runs", "3", "--", "cat", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |state: &str| {
        let summaries = json["summaries"].as_array().unwrap();
        summaries.iter().find(|summary| summary["state"] == state).unwrap()["bytes_read"].as_f64().unwrap()
    };
    assert!(read("selective") >= f64::from(7 << 20), "{}", read("selective"));
    assert!(read("hot") <= f64::from(1 << 20), "{}", read("hot"));
}

/// Says that it is ready when a thread has read the file, and stays until it is ended. Its first thread is gone by then;
/// with a second argument, it ignores SIGCHLD.
const THREADS: &str = include_str!("measure/threads.c");

#[test]
fn what_a_program_read_that_is_ended_when_ready_is_counted_or_unknown() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [data, code, program] = ["data", "threads.c", "threads"].map(|name| folder.path().join(name));
    fs::write(&data, vec![1; 8 << 20]).unwrap();
    fs::File::open(&data).unwrap().sync_all().unwrap();
    fs::write(&code, THREADS).unwrap();
    assert!(Command::new("cc").args(["-w", "-pthread", "-o"]).arg(&program).arg(&code).status().unwrap().success());
    let [data, program] = [&data, &program].map(|path| path.to_str().unwrap());
    let selective = ["--state", "selective", "--runs", "3", "--ready", "stdout:ready", "--no-history"];
    let counted = |json: &Value| -> Vec<Value> {
        let all = json["samples"].as_array().unwrap().iter();
        let counted: Vec<Value> = all.filter(|sample| sample["used"]["use"] == "counted").cloned().collect();
        assert!(!counted.is_empty(), "{json:#}");
        counted
    };

    let (found, output) = json(&[&selective[..], &["--", program, data]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for sample in counted(&found) {
        assert!(sample["bytes_read"].as_u64().is_some_and(|bytes| bytes >= 7 << 20), "{sample:#}");
        assert!(sample["minor_faults"].as_u64().is_some_and(|faults| faults > 0), "{sample:#}");
        assert!(sample["user_seconds"].is_f64() && sample["uncounted"].is_null(), "{sample:#}");
    }

    let ignoring = [&selective[..], &["--", program, data, "ignores SIGCHLD"]].concat();
    let (found, output) = json(&ignoring);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for sample in counted(&found) {
        for figure in ["bytes_read", "major_faults", "minor_faults", "user_seconds", "system_seconds"] {
            assert!(sample[figure].is_null(), "{sample:#}");
        }
        assert!(sample["uncounted"].as_str().is_some_and(|reason| reason.contains("SIGCHLD")), "{sample:#}");
    }
    let kinds: Vec<_> = found["warnings"].as_array().unwrap().iter().map(|warning| &warning["kind"]).collect();
    assert!(kinds.contains(&&Value::from("reads-unknown")), "{kinds:?}");
    let shown = text(&self::output(&ignoring).stdout);
    assert!(shown.lines().any(|line| line.contains(" unknown ")) && shown.contains("SIGCHLD"), "{shown}");
}

#[test]
fn a_program_that_fails_is_a_no_with_its_runs_kept() {
    let (json, output) = json(&["--state", "hot", "--runs", "3", "--", "sh", "-c", "exit 5"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json["summaries"][0]["counted"], 0);
    let samples = json["samples"].as_array().unwrap();
    assert!(!samples.is_empty() && samples.iter().all(|sample| sample["used"]["use"] == "failed"), "{samples:#?}");
    assert!(samples[0]["used"]["reason"].as_str().unwrap().contains("code 5"));
}

#[test]
fn wrong_usage_names_the_thing_and_the_next_step() {
    for (args, words) in [
        (&["--", "/no/such/program"][..], &["/no/such/program", "hint:"][..]),
        (&["--", "/etc"], &["/etc", "directory", "hint:"]),
        (&["--ready", "stdout:(", "--", "true"], &["stdout"]),
        (&["--ready", "port:notaport", "--", "true"], &["port"]),
        (&["--compare", "'unclosed", "--", "true"], &["unclosed", "hint:"]),
        (&["--runs", "0", "--", "true"], &["runs"]),
        (&[], &["PROGRAM"]),
    ] {
        let output = output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = text(&output.stderr);
        for word in words {
            assert!(said.contains(word), "{args:?}: {word} is missing in {said}");
        }
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
}

#[test]
fn a_misspelt_option_is_no_program_and_a_programs_options_are_its_own() {
    let coldstart = || Command::new(env!("CARGO_BIN_EXE_coldstart"));
    for verb in [&["measure"][..], &["trace"], &["speedup"], &["prefetch", "record"], &["prefetch", "run", "plan"]] {
        let output = coldstart().args(verb).args(["--jsn", "--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb:?}");
        let (said, shown) = (text(&output.stderr), text(&output.stdout));
        assert!(said.starts_with("error: unexpected argument '--jsn'") && shown.is_empty(), "{verb:?}: {said}{shown}");
    }
    for words in
        [&["sh", "-c", "[ \"$*\" = '-x --jsn -- --runs' ]", "sh", "-x", "--jsn", "--", "--runs"][..], &["true", "-5"]]
    {
        for before in [&[][..], &["--"]] {
            let output = output(&[&["--no-history", "--state", "hot", "--runs", "1"], before, words].concat());
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn readiness_by_output_ends_the_whole_tree() {
    let mark = format!("coldstart_test_mark_{}", std::process::id());
    let script = "setsid sleep 300 & echo it is ready; exec sleep 300";
    let started = Instant::now();
    let output = measure()
        .args(["--state", "hot", "--runs", "2", "--ready", "stdout:ready", "--", "sh", "-c", script])
        .env("MARK", &mark)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(started.elapsed() < Duration::from_secs(100), "nobody waited for the sleeps");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let mark = format!("coldstart_test_interrupt_{}", std::process::id());
    let mut child = measure()
        .args(["--state", "hot", "--runs", "1000", "--", "sh", "-c", "setsid sleep 300 & sleep 300"])
        .env("MARK", &mark)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Wait until the program runs.
    while processes_with(&mark).len() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[test]
fn without_root_cold_is_refused_with_advice_and_the_rest_works() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become nobody");
    }
    // A place that others may enter: the build folder may lie in a private home.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let program = folder.path().join("coldstart");
    copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
    let as_nobody = |args: &[&str]| as_nobody(&program, args);

    let refused = as_nobody(&["measure", "--state", "cold", "--", "true"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("drop_caches") && said.contains("selective"), "{said}");

    let works = as_nobody(&["measure", "--runs", "2", "--", "perl", "-e", "1"]);
    assert_eq!(works.status.code(), Some(0), "{}", text(&works.stderr));
    assert!(text(&works.stderr).contains("using `selective` instead of `cold`"), "{}", text(&works.stderr));
    assert!(text(&works.stdout).contains("selective"), "{}", text(&works.stdout));
}

#[test]
fn root_of_a_container_is_told_what_keeps_caches_from_being_dropped() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to mount");
    }
    let words = "mount --make-rprivate / && mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", words, "sh", env!("CARGO_BIN_EXE_coldstart")]);
    let output = command.args(["measure", "--no-history", "--runs", "2", "--", "perl", "-e", "1"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("(`/proc/sys` is read-only here, as in most containers): using `selective` instead of `cold`"),
        "{said}"
    );
    assert!(!said.contains("requires root"), "{said}");
}

fn as_nobody(program: &Path, args: &[&str]) -> Output {
    Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(program)
        .args(args)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
