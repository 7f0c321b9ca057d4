//! Starts that are interrupted, that never become ready, and whose recorder is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use coldstart_profile::trace::RunEnd;
use rustix::process::{Pid, Signal, kill_process};

use super::support::{Bench, COLDSTART, living};

/// Two processes with a word in their names, the second of another session, that never end; says a line when both are there.
fn endless(bench: &Bench, word: &str) -> Child {
    let script = format!("setsid sh -c 'while :; do sleep 1; done; : {word}' & echo there; while :; do sleep 1; done");
    let words = ["trace", "-o", "it.coldtrace", "--", "sh", "-c", &script];
    let mut child = bench.command(COLDSTART, &words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn assert_all_gone(word: &str) {
    let end = Instant::now() + Duration::from_secs(30);
    while !living(word).is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(living(word), [""; 0]);
}

#[test]
fn interrupted_it_keeps_what_there_was() {
    for signal in [Signal::INT, Signal::TERM] {
        let bench = Bench::new();
        let word = format!("interrupted-{signal:?}-{}", std::process::id());
        let mut child = endless(&bench, &word);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_all_gone(&word);
        let trace = bench.read();
        assert_eq!(trace.run.end, RunEnd::Interrupted);
        assert!(trace.run.ready_at.is_none() && !trace.events.is_empty());
    }
}

#[test]
fn killed_it_leaves_nobody() {
    let bench = Bench::new();
    let word = format!("killed-{}", std::process::id());
    let mut child = endless(&bench, &word);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    assert_all_gone(&word);
}

#[test]
fn readiness_decides_what_we_answer() {
    let bench = Bench::new();
    let word = format!("readiness-{}", std::process::id());
    let serves = format!("echo serving; sleep 300; : {word}");
    let ready = bench.trace(&["--ready", "stdout:serving"], &["sh", "-c", &serves]);
    assert_eq!(ready.status.code(), Some(0), "{}", super::support::text(&ready.stderr));
    assert_eq!(bench.read().run.end, RunEnd::EndedWhenReady);
    let never = bench.trace(&["--ready", "stdout:never", "--time-limit", "1"], &["sh", "-c", &serves]);
    assert_eq!(never.status.code(), Some(1), "{}", super::support::text(&never.stderr));
    let endless = bench.trace(&["--time-limit", "1"], &["sh", "-c", &serves]);
    assert_eq!(endless.status.code(), Some(1), "{}", super::support::text(&endless.stderr));
    assert_eq!(bench.read().run.end, RunEnd::TimedOut);
    assert_all_gone(&word);
}
