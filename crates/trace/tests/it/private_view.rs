//! Recording and tracing a start in a private view: the files are the replacements, under the originals' names.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_profile::trace::{Layer, StartState};
use coldstart_profile::{FileIdentity, FileUse, WorkingSet};
use coldstart_sys::private_mounts::{Overlay, PrivateMounts, PrivateMountsError};
use coldstart_testing::{scratch, skip};
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_trace::{TraceAge, record_working_set, working_sets_inside};
use tempfile::TempDir;

use crate::start_support::build;

/// A program with a library, and another library to lay over that: it has more pages, all of which it reads.
struct Scene {
    _directory: TempDir,
    program: PathBuf,
    original: PathBuf,
    replacement: PathBuf,
    options: LaunchOptions,
}

impl Scene {
    fn new() -> Option<Self> {
        let directory = scratch();
        let here = directory.path().canonicalize().unwrap();
        let library = |name: &str, pages: u32, own: &str| {
            let source = format!(
                "const char content[{pages} * 4096] = {{1}};\n\
                 __attribute__((noinline)) int {own}(void) {{ int sum = 0; for (int at = 0; at < {pages}; at++) \
                 sum += ((const volatile char *)content)[at * 4096]; return sum; }}\n\
                 int work(void) {{ return {own}(); }}\n"
            );
            build(&here, name, &source, &["-shared", "-fPIC", "-O1", "-Wl,-soname,liba.so"])
        };
        let (original, replacement) = (library("liba.so", 4, "old_work"), library("other.so", 200, "new_work"));
        let main = "int work(void); int main(void) { return work() - 1; }";
        let program = build(&here, "program", main, &["-L.", "-l:liba.so", "-Wl,-rpath,$ORIGIN"]);
        let overlay = Overlay { original: original.clone(), replacement: replacement.clone() };
        let mounts = match PrivateMounts::create(&[overlay]) {
            Err(error @ PrivateMountsError::Impossible { .. }) => {
                skip(&error.to_string());
                return None;
            }
            made => Some(Arc::new(made.unwrap())),
        };
        let options = LaunchOptions { time_limit: Some(Duration::from_secs(300)), mounts, ..LaunchOptions::default() };
        Some(Self { _directory: directory, program, original, replacement, options })
    }

    fn command(&self) -> CommandLine {
        CommandLine { program: self.program.clone().into(), arguments: Vec::new() }
    }

    fn make_cold(&self) {
        for file in [&self.program, &self.original, &self.replacement] {
            evict(file, EvictOptions { write_first: true }).unwrap();
        }
    }

    fn assert_replaced(&self, set: &WorkingSet) {
        let named = |path: &Path| -> Option<&FileUse> { set.files.iter().find(|file| file.path == path) };
        let library = named(&self.original).expect("under the original's name");
        let now = fs::metadata(&self.replacement).unwrap();
        let identity = FileIdentity::from_stat(now.size().try_into().unwrap(), now.mtime(), now.mtime_nsec());
        assert_eq!(library.identity, identity);
        let pages: u64 = library.touched.iter().map(|touched| touched.range.count).sum();
        assert!(pages >= 200, "{pages}");
        assert!(named(&self.replacement).is_none() && named(&self.program).is_some());
    }
}

#[test]
fn a_recording_tells_the_replacement() {
    let Some(scene) = Scene::new() else { return };
    scene.make_cold();
    let recording = record_working_set(&scene.command(), &scene.options).unwrap();
    assert!(recording.launched.succeeded(), "{:?}", recording.launched);
    scene.assert_replaced(&recording.working_set);
}

#[test]
fn a_trace_describes_the_replacement_and_gives_its_pages() {
    let Some(scene) = Scene::new() else { return };
    let options = TraceOptions {
        layers: [Layer::Phases, Layer::Pages, Layer::Files, Layer::Functions].into(),
        launch: scene.options.clone(),
        readiness: "exit".into(),
        state: StartState::AsIs,
        functions_everywhere: true,
    };
    let command = scene.command();
    let prepared = PreparedTrace::new(&command, &options).unwrap();
    scene.make_cold();
    let started = SystemTime::now();
    let trace = prepared.record(&|_, _| true).unwrap().trace;
    let file = trace.files.iter().position(|file| file.path == scene.original).expect("under the original's name");
    assert_eq!(trace.files[file].inode, fs::metadata(&scene.replacement).unwrap().ino());
    let object = trace.objects.iter().find(|object| object.file.0 as usize == file).expect("it is described");
    let has = |name: &str| object.symbols.iter().any(|symbol| symbol.name.contains(name));
    assert!(has("new_work") && !has("old_work"), "{:?}", object.symbols);
    let sets = working_sets_inside(&trace, TraceAge::Fresh(started), scene.options.mounts.as_deref());
    scene.assert_replaced(&sets.cached);
    scene.assert_replaced(&sets.exact.unwrap().working_set);
}
