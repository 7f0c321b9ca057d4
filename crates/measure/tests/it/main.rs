//! Measuring small real programs that read generated files, on a real disk. What is asserted are bytes and pages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod privileges;
mod states;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasurePlan, StartState};
use coldstart_profile::measurement::{Measurement, Sample, Use};
use tempfile::NamedTempFile;

const MIB: u64 = 1 << 20;

/// A file in the build directory, which is on a disk, unlike `/tmp` on many machines; written out and in memory.
fn generated(mebibytes: usize) -> NamedTempFile {
    let mut file = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::io::Write::write_all(&mut file, &vec![7; mebibytes << 20]).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

fn reading(label: &str, files: &[&Path]) -> Candidate {
    Candidate {
        label: label.to_owned(),
        command_line: CommandLine::new("cat", files),
        launch: LaunchOptions::default(),
        files: files.iter().map(PathBuf::from).collect(),
    }
}

fn plan(commands: Vec<Candidate>, states: &[StartState], runs: u32) -> MeasurePlan {
    MeasurePlan { runs, ..MeasurePlan::new(commands, states.to_vec()) }
}

fn counted(measurement: &Measurement, command: usize, state: StartState) -> Vec<&Sample> {
    let wanted = |sample: &&Sample| sample.command == command && sample.state == state && sample.used == Use::Counted;
    measurement.samples.iter().filter(wanted).collect()
}

fn resident(path: &Path) -> u64 {
    let residency = coldstart_pagecache::residency(path, coldstart_pagecache::Detail::Counts).unwrap();
    residency.resident_pages().unwrap()
}

/// Tests that drop the machine's caches, and those that are disturbed by it, take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says why a test is skipped; fails it where skipping is not allowed.
fn skip(reason: &str) {
    assert!(std::env::var_os("COLDSTART_NO_SKIP").is_none_or(|value| value != "1"), "skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// The example program, brought up to date: `cargo test` with the name of a test does not build examples.
fn example() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let ours = std::env::current_exe().unwrap();
        let profile = ours.parent().unwrap().parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--offline", "--example", "measure", "--manifest-path"]);
        build.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        profile.join("examples/measure")
    })
}
