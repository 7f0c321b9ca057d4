//! Measuring small real programs that read generated files, on a real disk. What is asserted are bytes and pages.
//!
//! A test needs a process of its own, which `cargo xtask test` gives it: a launch takes children that begin during it in another
//! process group for the launched program's and ends them, and guardians are such children.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod frequency;
mod privileges;
mod states;

use std::path::{Path, PathBuf};

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasurePlan, StartState};
use coldstart_profile::measurement::{Measurement, Sample, Use};
use coldstart_testing::{Turn, skip};
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
fn turn() -> Turn {
    Turn::alone("page-cache")
}

/// The example program.
fn example() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    coldstart_testing::example(env!("CARGO"), manifest, "measure")
}
