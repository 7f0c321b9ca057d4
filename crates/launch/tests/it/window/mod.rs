//! Windows on displays of our own: which count, which do not, and displays that fail us.

mod displays;
mod programs;
mod server;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use coldstart_launch::{CommandLine, End, LaunchOptions, Launched, Output, launch};

use self::server::Server;
use coldstart_testing::eventually;

use crate::common::Marker;

/// The program with a window, brought up to date.
fn map_window() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    coldstart_testing::example(env!("CARGO"), manifest, "map_window")
}

fn mapping(mode: &str) -> CommandLine {
    CommandLine::new(map_window(), [mode])
}

/// What came of a launch, and what the program had said by the time it was ready.
struct Outcome {
    launched: Launched,
    said: Option<String>,
}

impl Outcome {
    /// Ready by the window that it announced.
    fn is_shown(&self) -> bool {
        self.launched.succeeded() && self.said.as_deref().is_some_and(|said| said.contains("showing"))
    }
}

fn run_on(display: &str, line: &CommandLine, change: impl FnOnce(&mut LaunchOptions)) -> Outcome {
    let marker = Marker::new();
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("output");
    let mut options = marker.options("window");
    options.environment.push(("DISPLAY".into(), Some(display.into())));
    options.output = Output::File(output.clone());
    change(&mut options);
    let mut said = None;
    let launched =
        launch(line, &options, None, &mut || said = Some(std::fs::read_to_string(&output).unwrap_or_default()))
            .unwrap();
    marker.assert_nothing_left();
    assert_eq!(said.is_some(), launched.ready_after.is_some());
    Outcome { launched, said }
}

fn shortly(options: &mut LaunchOptions) {
    options.time_limit = Some(Duration::from_secs(2));
}

#[test]
fn windows_of_the_program_count() {
    let Some(server) = Server::start(&[]) else { return };
    for mode in ["plain", "plain-untold", "override-redirect", "late", "two", "grandchild", "daemon"] {
        let outcome = run_on(server.display(), &mapping(mode), |_| {});
        assert!(outcome.is_shown(), "{mode}: {:?} {:?}", outcome.launched, outcome.said);
        assert_eq!(outcome.launched.end, End::Ended, "{mode}");
    }
}

#[test]
fn what_nobody_sees_does_not_count() {
    let Some(server) = Server::start(&[]) else { return };
    for mode in ["input-only-first", "growing"] {
        let outcome = run_on(server.display(), &mapping(mode), |_| {});
        assert!(outcome.is_shown(), "{mode}: {:?} {:?}", outcome.launched, outcome.said);
    }
    for mode in ["input-only", "pixel", "never"] {
        let outcome = run_on(server.display(), &mapping(mode), shortly);
        assert_eq!((outcome.launched.end, outcome.launched.ready_after), (End::TimedOut, None), "{mode}");
    }
}

#[test]
fn a_connection_handed_to_a_child_stays_the_programs() {
    let Some(server) = Server::start(&[]) else { return };
    for mode in ["hand-over", "hand-over-twice"] {
        let outcome = run_on(server.display(), &mapping(mode), |_| {});
        assert!(outcome.is_shown(), "{mode}: {:?} {:?}", outcome.launched, outcome.said);
    }
}

#[test]
fn an_end_before_the_first_window_is_a_failed_run() {
    let Some(server) = Server::start(&[]) else { return };
    let crashed = run_on(server.display(), &mapping("crash"), |_| {}).launched;
    assert_eq!((crashed.end, crashed.ready_after), (End::Exited(3), None));
    // As those do that hand over to an instance running already.
    let handed = run_on(server.display(), &"true".parse().unwrap(), |_| {}).launched;
    assert_eq!((handed.end, handed.ready_after), (End::Exited(0), None));
}

#[test]
fn windows_of_strangers_do_not_count() {
    for extensions in [&[][..], &["-extension", "X-Resource"]] {
        let Some(server) = Server::start(extensions) else { return };
        let mut stranger = Command::new(map_window())
            .arg("again-and-again")
            .env("DISPLAY", server.display())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the stranger's window", || !server.windows("map_window").is_empty());
        let outcome = run_on(server.display(), &"sleep 1000".parse().unwrap(), shortly);
        assert_eq!((outcome.launched.end, outcome.launched.ready_after), (End::TimedOut, None));
        assert!(run_on(server.display(), &mapping("late"), |_| {}).is_shown());
        assert_eq!(stranger.try_wait().unwrap(), None, "it was there all the time, and is still");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}

#[test]
fn a_server_that_cannot_tell_is_helped_by_properties() {
    let Some(server) = Server::start(&["-extension", "X-Resource"]) else { return };
    for mode in ["plain", "grandchild"] {
        let outcome = run_on(server.display(), &mapping(mode), |_| {});
        assert!(outcome.is_shown(), "{mode}: {:?} {:?}", outcome.launched, outcome.said);
    }
    let outcome = run_on(server.display(), &mapping("plain-untold"), shortly);
    assert_eq!((outcome.launched.end, outcome.launched.ready_after), (End::TimedOut, None));
}
