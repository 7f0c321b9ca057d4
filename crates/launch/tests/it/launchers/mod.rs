//! Launches by another process. The test's own process launches nothing: it would be a subreaper meanwhile, and take what the
//! others leave for its program's.

mod interrupts;
mod killed;
mod namespaces;
mod streams;

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Marker, behave, example};

fn launcher(marker: &Marker, readiness: &str, behaviour: &str) -> Child {
    launcher_of(marker, &[readiness, behave().to_str().unwrap(), behaviour])
}

/// A launcher with these words behind it.
fn launcher_of(marker: &Marker, words: &[&str]) -> Child {
    spawn_marked(marker, Command::new(example()).args(words))
}

/// Starts it with the marker in its environment, and without our streams.
fn spawn_marked(marker: &Marker, command: &mut Command) -> Child {
    let (variable, value) = marker.pair();
    command.env(variable, value).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}
