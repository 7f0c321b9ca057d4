//! Readiness by a file: one that appears, one that is written anew, one that was left over.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_launch::{CommandLine, End, LaunchError, LaunchOptions, Launched, launch};

use crate::common::{Marker, behaving, within_limits};

/// Runs a shell script with a directory of its own as working directory, and waits for `path` there.
fn run(directory: &Path, script: &str, path: &str, change: impl FnOnce(&mut LaunchOptions)) -> Launched {
    let marker = Marker::new();
    let mut options = marker.options(&format!("file:{path}"));
    options.working_directory = Some(directory.to_owned());
    change(&mut options);
    let mut told = 0;
    let launched = launch(&CommandLine::new("sh", ["-c", script]), &options, None, &mut || told += 1).unwrap();
    marker.assert_nothing_left();
    assert_eq!(told, u32::from(launched.ready_after.is_some()));
    launched
}

fn assert_ready(script: &str) {
    let directory = tempfile::tempdir().unwrap();
    let launched = run(directory.path(), &format!("sleep 0.1; {script}; exec sleep 1000"), "run/mark", |_| {});
    assert!(launched.succeeded(), "{script}: {launched:?}");
}

fn directory_with(content: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("mark");
    std::fs::write(&mark, content).unwrap();
    (directory, mark)
}

#[test]
fn whatever_appears_counts() {
    for script in [
        "mkdir run; echo 1 >run/mark",
        "mkdir -p run/mark",
        "mkdir run; mkfifo run/mark",
        "mkdir run; ln -s ../target run/mark; sleep 0.1; touch target",
        "mkdir other; touch other/mark; ln -s other run",
        // A file where the directory is to be.
        "touch run; sleep 0.1; rm run; mkdir run; touch run/mark",
        "mkdir run; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"run/mark\")'",
    ] {
        assert_ready(script);
    }
}

#[test]
fn a_file_that_was_there_counts_when_it_is_written_anew() {
    for script in [
        "echo 1 >mark",
        "echo 1 >>mark",
        "echo 0 >new; mv new mark",
        "rm mark; sleep 0.1; echo 0 >mark",
        "rm mark; echo 0 >mark",
        "ln -sf other mark; sleep 0.1; touch other",
    ] {
        let (directory, _) = directory_with("0\n");
        let script = format!("{script}; exec sleep 1000");
        assert!(run(directory.path(), &script, "mark", |_| {}).succeeded(), "{script}");
    }
}

#[test]
fn a_file_that_was_there_and_is_left_alone_does_not_count() {
    let (directory, mark) = directory_with("0\n");
    let limit = |options: &mut LaunchOptions| options.time_limit = Some(Duration::from_millis(300));
    let launched = run(directory.path(), "cat mark; exec sleep 1000", "mark", limit);
    assert_eq!((launched.end, launched.ready_after), (End::TimedOut, None));
    assert!(launched.last_seen.unwrap().ends_with("has not changed since"));
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "0\n");
}

#[test]
fn a_link_to_nowhere_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let link = |limit| {
        run(directory.path(), "ln -sf nowhere mark; exec sleep 1000", "mark", |options| {
            options.time_limit = Some(limit)
        })
    };
    let limits = [Duration::from_millis(300), Duration::from_secs(30)];
    let launched = within_limits(&limits, link, |launched| launched.last_seen.is_some());
    assert_eq!(launched.end, End::TimedOut);
    assert!(launched.last_seen.unwrap().ends_with("is a dangling symbolic link"));
}

#[test]
fn a_file_made_right_before_the_end_counts() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        assert!(run(directory.path(), "touch mark; exit 1", "mark", |_| {}).succeeded());
    }
    let directory = tempfile::tempdir().unwrap();
    let launched = run(directory.path(), "exit 3", "mark", |_| {});
    assert_eq!((launched.end, launched.ready_after), (End::Exited(3), None));
}

#[test]
fn one_launch_after_another_needs_its_own_sign() {
    let (directory, _) = directory_with("0\n");
    for _ in 0..10 {
        // The same bytes each time; the earlier launch wrote them a moment ago.
        assert!(run(directory.path(), "echo 1 >mark; exec sleep 1000", "mark", |_| {}).succeeded());
    }
}

#[test]
fn a_path_that_may_not_be_looked_at_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    // Root may look everywhere; but nobody at names that are too long.
    let path = directory.path().join("x".repeat(300));
    let options = Marker::new().options(&format!("file:{}", path.display()));
    let error = launch(&behaving(&["sleep"]), &options, None, &mut || panic!("not ready")).unwrap_err();
    assert!(matches!(&error, LaunchError::FileNotVisible { path: named, .. } if *named == path), "{error}");
}
