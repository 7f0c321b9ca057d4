//! Recording and tracing a program that a sandbox shows its files under other names: they count under the machine's names.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_profile::WorkingSet;
use coldstart_profile::trace::{Layer, StartState};
use coldstart_testing::{is_root, is_there, scratch, skip};
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_trace::{TraceAge, record_working_set, working_sets_inside};
use tempfile::TempDir;

use crate::start_support::build;

/// The machine has `real`, and `app` is empty; inside, `app` is `real`, and `single` is one file of it.
struct Scene {
    _directory: TempDir,
    here: PathBuf,
    options: LaunchOptions,
}

/// In a mount namespace of its own, as a sandbox has it.
const SANDBOX: &str = "mount --bind real app && mount --bind real/one single && exec app/program";

impl Scene {
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        if !is_there("unshare") {
            skip("unshare is missing");
            return None;
        }
        let directory = scratch();
        let here = directory.path().canonicalize().unwrap();
        for name in ["real", "app"] {
            fs::create_dir(here.join(name)).unwrap();
        }
        for name in ["real/one", "real/data", "single"] {
            fs::write(here.join(name), vec![1; 64 << 10]).unwrap();
        }
        let main = "#include <stdio.h>\n#include <unistd.h>\n\
             static int all(const char *name) { static char b[65536]; FILE *f = fopen(name, \"r\"); return f && fread(b, 1, sizeof b, f) == sizeof b; }\n\
             int main(void) { return !(all(\"single\") && all(\"app/data\") && access(\"app/none\", F_OK)); }\n";
        build(&here.join("real"), "program", main, &["-O1"]);
        let options = LaunchOptions {
            time_limit: Some(Duration::from_secs(300)),
            working_directory: Some(here.clone()),
            ..LaunchOptions::default()
        };
        Some(Self { _directory: directory, here, options })
    }

    fn command(&self) -> CommandLine {
        let words = ["--mount", "--propagation", "private", "sh", "-c", SANDBOX];
        CommandLine { program: "unshare".into(), arguments: words.map(Into::into).to_vec() }
    }

    fn make_cold(&self) {
        for file in ["real/program", "real/one", "real/data"] {
            evict(&self.here.join(file), EvictOptions { write_first: true }).unwrap();
        }
    }

    fn assert_named(&self, set: &WorkingSet) {
        for (name, pages) in [("real/program", 1), ("real/one", 16), ("real/data", 16)] {
            let file = set.files.iter().find(|file| file.path == self.here.join(name));
            let file = file.unwrap_or_else(|| panic!("{name} is missing: {:?}", set.files));
            let touched: u64 = file.touched.iter().map(|touched| touched.range.count).sum();
            assert!(touched >= pages, "{name}: {touched}");
        }
        let inside = |path: &Path| path.starts_with(self.here.join("app")) || path == self.here.join("single");
        assert!(!set.files.iter().any(|file| inside(&file.path)), "{:?}", set.files);
    }
}

#[test]
fn a_recorded_start_has_the_files_under_the_machines_names() {
    let Some(scene) = Scene::new() else { return };
    scene.make_cold();
    let recorded = record_working_set(&scene.command(), &scene.options).unwrap();
    assert!(recorded.launched.succeeded(), "{:?}", recorded.launched);
    scene.assert_named(&recorded.working_set);
}

#[test]
fn a_traced_start_has_the_files_under_the_machines_names() {
    let Some(scene) = Scene::new() else { return };
    let options = TraceOptions {
        layers: [Layer::Pages, Layer::Files].into(),
        launch: scene.options.clone(),
        readiness: "exit".into(),
        state: StartState::AsIs,
        functions_everywhere: false,
    };
    let command = scene.command();
    let prepared = PreparedTrace::new(&command, &options).unwrap();
    scene.make_cold();
    let started = SystemTime::now();
    let trace = prepared.record(&|_, _| true).unwrap().trace;
    let sets = working_sets_inside(&trace, TraceAge::Fresh(started), None);
    scene.assert_named(&sets.cached);
    scene.assert_named(&sets.exact.unwrap().working_set);
}
