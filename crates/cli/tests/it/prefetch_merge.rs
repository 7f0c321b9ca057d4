//! `coldstart prefetch merge` with plans of real starts, which open different documents.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::cold::make_cold;
use crate::text;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A directory on a real disk, with documents that all or single starts read.
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        for document in ["shared", "a", "b", "c"] {
            fs::write(scene.path(document), vec![b'x'; 64 * 4096]).unwrap();
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A plan of a start that reads these documents.
    fn recorded(&self, documents: &[&str]) -> PathBuf {
        let paths: Vec<PathBuf> = documents.iter().map(|name| self.path(name)).collect();
        paths.iter().for_each(|path| make_cold(path));
        let plan = self.path(&format!("{}.prefetch", documents.concat()));
        let mut record = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        record.args(["prefetch", "record", "--as-is", "-o"]).arg(&plan).args(["--", "cat"]).args(&paths);
        let output = record.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        plan
    }
}

fn merge(plans: &[&Path], words: &[&str], output: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.args(["prefetch", "merge"]).args(words).args(plans).arg("-o").arg(output).output().unwrap()
}

fn merged(plans: &[&Path], words: &[&str], output: &Path) -> Value {
    let output = merge(plans, &[words, &["--json"]].concat(), output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Pages of a document that the plan reads.
fn planned(plan: &Path, document: &Path) -> u64 {
    let shown = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["prefetch", "show", "--json"]).arg(plan).output();
    let shown: Value = serde_json::from_slice(&shown.unwrap().stdout).unwrap();
    let files = shown["files"].as_array().unwrap();
    let of_document = files.iter().find(|file| file["path"] == document.to_str().unwrap());
    of_document.map_or(0, |file| file["pages"].as_u64().unwrap())
}

#[test]
fn what_enough_starts_read_is_in_the_merged_plan() {
    let scene = Scene::new();
    let plans: Vec<PathBuf> = [&["shared", "a"][..], &["shared", "b"], &["shared", "c", "b"]]
        .map(|documents| scene.recorded(documents))
        .into();
    let [a, b, c] = [0, 1, 2].map(|number| plans[number].as_path());
    let output = scene.path("merged.prefetch");

    let outcome = merged(&[a, b, c], &["--share", "50"], &output);
    assert_eq!((&outcome["schema"], &outcome["recordings"]), (&"coldstart.prefetch-merge/1".into(), &3.into()));
    let found = ["shared", "a", "b", "c"].map(|document| planned(&output, &scene.path(document)));
    assert_eq!(found.map(|pages| pages > 0), [true, false, true, false], "{found:?}");
    assert!(outcome["left_out_bytes"].as_u64().unwrap() > 0, "{outcome}");

    let other = scene.path("other.prefetch");
    merged(&[c, a, b], &["--share", "50"], &other);
    assert_eq!(fs::read(&output).unwrap(), fs::read(&other).unwrap(), "the order of the plans is irrelevant");

    merged(&[a, b, c], &["--share", "1"], &output);
    assert!(["shared", "a", "b", "c"].iter().all(|document| planned(&output, &scene.path(document)) > 0));

    // It can be used, and merged again.
    let run = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["prefetch", "run"]).arg(&output).output().unwrap();
    assert!(run.status.success() && text(&run.stderr).is_empty(), "{}", text(&run.stderr));
    merged(&[&output, a], &[], &other);
}

#[test]
fn a_single_recording_stays_as_it_is() {
    let scene = Scene::new();
    let plan = scene.recorded(&["a"]);
    let output = scene.directory.path().join(OsStr::from_bytes(b"a plan \xff"));
    for plans in [&[plan.as_path()][..], &[&plan, &plan, &plan]] {
        let done = merge(plans, &[], &output);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert_eq!(fs::read(&output).unwrap(), fs::read(&plan).unwrap());
    }
}

#[test]
fn of_a_changed_document_the_later_version_is_planned() {
    let scene = Scene::new();
    let old = scene.recorded(&["a"]);
    // Whole seconds separate recordings.
    let newer = scene.path("newer.prefetch");
    fs::write(scene.path("a"), vec![b'y'; 70 * 4096]).unwrap();
    fs::rename(scene.recorded(&["a", "b"]), &newer).unwrap();
    let mut plan = coldstart_profile::plan::PlanView::read(&fs::read(&newer).unwrap()).unwrap().to_plan();
    plan.summary.recorded_at += 10;
    fs::write(&newer, plan.to_bytes().unwrap()).unwrap();

    let output = scene.path("merged.prefetch");
    let done = merge(&[&newer, &old], &[], &output);
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stderr).contains("recorded in several versions"), "{}", text(&done.stderr));
    let shown = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["prefetch", "show"]).arg(&output).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "nothing in it is stale: {}", text(&shown.stderr));
}

#[test]
fn what_cannot_be_merged_is_named() {
    let scene = Scene::new();
    let plan = scene.recorded(&["a"]);
    let output = scene.path("merged.prefetch");
    let said = |plans: &[&Path], words: &[&str], output: &Path| {
        let done = merge(plans, words, output);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
        text(&done.stderr)
    };
    let error = said(&[&plan, &scene.path("b")], &[], &output);
    assert!(error.contains("/b`") && error.contains("not a prefetch plan"), "{error}");
    let error = said(&[&plan, &scene.path("none")], &[], &output);
    assert!(error.contains("/none`"), "{error}");
    let error = said(&[&plan], &[], &plan);
    assert!(error.contains("the plan `"), "an input is not written over: {error}");
    said(&[&plan], &["--share", "0"], &output);
    said(&[], &[], &output);
    assert!(!output.exists());
}
