//! `coldstart-survey` as its users meet it: started, stopped, started again, started twice.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archives;
mod hard;
mod queries;
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coldstart_testing::{PATIENCE, Random, compile, kill_after, succeed, within};
use serde_json::Value;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A directory with very many names of a small object, so that a survey has several shards.
    fn new(files: usize) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        let library =
            compile("cc", &scene.path("lib.so"), "int *p, x; void f(void) { p = &x; }", &["-shared", "-fPIC", "-s"]);
        let bytes = fs::read(library).unwrap();
        fs::create_dir(scene.path("tree")).unwrap();
        for number in 0..files {
            // Every tenth is an object.
            let bytes = if number % 10 == 0 { &bytes[..] } else { b"" };
            fs::write(scene.path(&format!("tree/{number}")), bytes).unwrap();
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-survey"));
        command.arg("survey").args(words).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// What any verb prints with `--json`.
    #[track_caller]
    fn json_of(&self, words: &[&str]) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-survey"));
        command.args(words).arg("--json").current_dir(self.directory.path()).stdin(Stdio::null());
        serde_json::from_str(&succeed(&mut command)).unwrap()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The tables of a survey by name, and their bytes.
fn tables(survey: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut tables = Vec::new();
    for shard in fs::read_dir(survey).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in fs::read_dir(&shard).unwrap().map(|entry| entry.unwrap().path()) {
            tables.push((file.strip_prefix(survey).unwrap().to_owned(), fs::read(&file).unwrap()));
        }
    }
    tables.sort();
    tables
}

#[test]
fn a_survey_says_what_it_made() {
    let scene = Scene::new(30);
    let output = scene.run(&["tree", "-o", "out"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("3 objects of 30 files in 1 shard\n"), "{text}");
    assert!(text.contains("out/*/objects.parquet"), "{text}");
    let again = scene.json(&["tree", "-o", "out"]);
    assert_eq!((&again["kept"], &again["made"], &again["objects"]), (&1.into(), &0.into(), &3.into()), "{again}");
    let refused = scene.run(&["lib.so", "-o", "out"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("it holds a survey of tree") && message.contains("hint:"), "{message}");
}

#[test]
fn the_parts_are_the_whole() {
    let scene = Scene::new(9000);
    scene.json(&["tree", "-o", "whole"]);
    for part in ["2/2", "1/2"] {
        scene.json(&["tree", "-o", "parts", "--shard", part]);
    }
    scene.json(&["tree", "-o", "parts"]);
    let (whole, parts) = (tables(&scene.path("whole")), tables(&scene.path("parts")));
    assert_eq!(whole.len(), 3 * 8);
    assert!(whole == parts, "other bytes");
}

#[test]
fn a_killed_survey_goes_on() {
    let scene = Scene::new(9000);
    scene.json(&["tree", "-o", "whole"]);
    let mut random = Random::new(3);
    for _ in 0..12 {
        kill_after(&mut scene.command(&["tree", "-o", "killed"]), Duration::from_millis(random.below(400) as u64));
    }
    scene.json(&["tree", "-o", "killed"]);
    assert!(tables(&scene.path("whole")) == tables(&scene.path("killed")), "other bytes");
    assert!(!scene.path("killed/.working").exists());
}

#[test]
fn two_surveys_into_one_directory_share_the_work() {
    let scene = Scene::new(9000);
    scene.json(&["tree", "-o", "whole"]);
    let start = || scene.command(&["tree", "-o", "both"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut children = [start(), start()];
    for child in &mut children {
        assert!(within(PATIENCE, || child.try_wait().unwrap().is_some()), "it does not end");
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
    }
    scene.json(&["tree", "-o", "both"]);
    assert!(tables(&scene.path("whole")) == tables(&scene.path("both")), "other bytes");
}

#[test]
fn a_report_says_what_would_be_gained() {
    let scene = Scene::new(30);
    scene.json(&["tree", "-o", "out"]);
    let output = scene.run(&["report", "out", "--html", "page.html"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("Surveyed: 3 objects, 0 of them programs"), "{text}");
    assert!(text.contains("(no package)"), "{text}");
    let page = fs::read_to_string(scene.path("page.html")).unwrap();
    assert!(page.contains("coldstart.survey-report/1") && page.contains("A survey of tree"));
    // An earlier page is replaced, another file is not.
    assert!(scene.run(&["report", "out", "--html", "page.html"]).status.success());
    fs::write(scene.path("letter"), "Dear").unwrap();
    let output = scene.run(&["report", "out", "--html", "letter"]);
    assert_eq!((output.status.code(), fs::read(scene.path("letter")).unwrap()), (Some(2), b"Dear".to_vec()));
    let report = scene.json(&["report", "out"]);
    assert_eq!((&report["totals"]["objects"], &report["complete_shards"]), (&3.into(), &1.into()), "{report}");
    // What is not complete is summed up as far as it goes.
    fs::remove_dir_all(scene.path("out/shard=00000")).unwrap();
    let output = scene.run(&["report", "out"]);
    assert_eq!(output.status.code(), Some(1));
    let output = scene.run(&["report", "tree"]);
    assert_eq!(output.status.code(), Some(2));
    scene.json(&["tree", "-o", "out"]);
    fs::write(scene.path("out/shard=00000/findings.parquet"), "PAR1").unwrap();
    let output = scene.run(&["report", "out"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("findings.parquet") && message.contains("hint: repeat the survey"), "{message}");
}
