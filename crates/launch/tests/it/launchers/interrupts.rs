//! Ctrl-C and its kin: another process launches, is sent a signal, and must leave nothing behind.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use coldstart_testing::eventually;
use rustix::process::Signal;

use super::{launcher, send, spawn_marked};
use crate::common::{Marker, behave, example};

#[test]
fn signals_end_the_tree_and_the_launch() {
    for (signal, behaviour) in [
        (Signal::INT, "sleep"),
        (Signal::TERM, "daemon-and-sleep"),
        (Signal::HUP, "stubborn"),
        (Signal::QUIT, "stopped"),
    ] {
        let marker = Marker::new();
        let mut child = launcher(&marker, "stdout:never", behaviour);
        // The launcher carries the marker too.
        let wanted = if behaviour == "sleep" || behaviour == "stopped" { 2 } else { 3 };
        eventually("the tree", || marker.processes().len() == wanted);
        // A moment for the program to reach what it behaves like; not needed for the outcome.
        std::thread::sleep(std::time::Duration::from_millis(20));
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()), "{behaviour}");
        marker.assert_nothing_left();
    }
}

#[test]
fn a_second_signal_cuts_the_grace_short() {
    let marker = Marker::new();
    // The example's grace is a minute; the fixture ignores SIGTERM.
    let mut child = launcher(&marker, "grace:stdout:never", "stubborn");
    eventually("the tree", || marker.processes().len() == 3);
    std::thread::sleep(std::time::Duration::from_millis(50));
    send(&child, Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None, "the first signal leaves the program its grace");
    let begin = std::time::Instant::now();
    let status = loop {
        // Those that come before the first was seen are one with it, on a machine that stands still for a moment.
        send(&child, Signal::INT);
        std::thread::sleep(std::time::Duration::from_millis(200));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begin.elapsed().as_secs() < 45, "the grace was not cut short");
    };
    // The last one may come when the launcher heeds no more signals and is about to exit.
    assert!(status.code() == Some(130) || status.signal() == Some(Signal::INT.as_raw()), "{status:?}");
    marker.assert_nothing_left();
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let marker = Marker::new();
    let mut nohup = Command::new("nohup");
    nohup.arg(example()).args(["stdout:never", behave().to_str().unwrap(), "sleep"]);
    let mut child = spawn_marked(&marker, &mut nohup);
    eventually("the tree", || marker.processes().len() == 2);
    send(&child, Signal::HUP);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(child.try_wait().unwrap(), None);
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    marker.assert_nothing_left();
}
