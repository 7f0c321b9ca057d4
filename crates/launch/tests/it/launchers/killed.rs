//! SIGKILL, after which nothing of the launcher runs: its program must be gone all the same, and nothing else.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use coldstart_testing::eventually;
use rustix::process::{Pid, Signal, test_kill_process_group};

use super::{launcher, launcher_of, send};
use crate::common::{Marker, behave, example};

#[test]
fn a_killed_launcher_takes_the_whole_tree_with_it() {
    // Daemons that have left session, group and parent, and others that are deaf to what can be ignored.
    for (behaviour, processes) in [("sleep", 1), ("daemon-and-sleep", 2), ("stubborn", 2), ("stopped", 1)] {
        let marker = Marker::new();
        let mut child = launcher(&marker, "stdout:never", behaviour);
        eventually("the tree", || marker.processes().len() == processes + 1);
        send(&child, Signal::KILL);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        eventually("the end of the tree", || marker.processes().is_empty());
    }
}

#[test]
fn a_killed_launcher_ends_a_tree_that_goes_on_forking() {
    let marker = Marker::new();
    let directory = tempfile::tempdir().unwrap();
    let (behave, file) = (behave(), directory.path().join("groups"));
    // With one process that stays, so that the launcher does not end the storm itself.
    let script = "\"$0\" fork-storm \"$1\"; exec sleep 1000";
    let words = ["stdout:never", "sh", "-c", script, behave.to_str().unwrap(), file.to_str().unwrap()];
    let mut child = launcher_of(&marker, &words);
    let groups = || -> Vec<Pid> {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    };
    eventually("the storm", || groups().len() == 4);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    eventually("the end of the storm", || {
        marker.processes().is_empty() && groups().iter().all(|group| test_kill_process_group(*group).is_err())
    });
}

#[test]
fn nothing_else_is_ended_with_a_killed_launcher() {
    let marker = Marker::new();
    // Beside it, in its session, with its environment, and started by it: but not launched.
    let bystander = || {
        let (variable, value) = marker.pair();
        Command::new(behave()).arg("sleep").env(variable, value).stdin(Stdio::null()).spawn().unwrap()
    };
    let mut before = bystander();
    let mut child = launcher(&marker, "stdout:never", "daemon-and-sleep");
    eventually("the tree", || marker.processes().len() == 4);
    let mut after = bystander();
    send(&child, Signal::KILL);
    child.wait().unwrap();
    eventually("the end of the tree", || marker.processes().len() == 2);
    for bystander in [&mut before, &mut after] {
        assert_eq!(bystander.try_wait().unwrap(), None);
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }
}

#[test]
fn a_launch_within_a_launch_ends_with_the_outer_one() {
    let marker = Marker::new();
    let (example, behave) = (example(), behave());
    let inner = [example.to_str().unwrap(), "stdout:never", behave.to_str().unwrap(), "stubborn"];
    let mut outer = launcher_of(&marker, &[&["stdout:never"], &inner[..]].concat());
    eventually("both trees", || marker.processes().len() == 4);
    send(&outer, Signal::KILL);
    outer.wait().unwrap();
    eventually("the end of both trees", || marker.processes().is_empty());
}
