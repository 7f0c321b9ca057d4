//! `speedup --install` with fixes that change files: in place, with the originals kept, and undone.

pub(crate) mod searching;
mod upgraded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_testing::{output_of, scratch, skip};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

/// Whether files can be changed for a trial.
fn has_private_view() -> bool {
    let possible = coldstart_sys::private_mounts::possible();
    if let Err(error) = &possible {
        skip(&format!("no private view: {error}"));
    }
    possible.is_ok()
}

struct Scene {
    directory: TempDir,
    program: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = scratch();
        let program = searching::build(&directory.path().canonicalize().unwrap().join("the app"), "1");
        Self { directory, program }
    }

    fn ours(&self, words: &[&str]) -> Output {
        let home = self.directory.path().join("home");
        fs::create_dir_all(&home).unwrap();
        Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(words)
            .env("HOME", &home)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(&home)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Installs it bound, whatever is measured; with further options.
    fn install(&self, options: &[&str]) -> Output {
        let words = ["speedup", "--install", "--anyway", "--user", "--runs", "2", "--fixes", "bind"];
        self.ours(&[&words[..], options, &["--", self.program.to_str().unwrap()]].concat())
    }

    /// The manifest of the only installation.
    fn manifest(&self) -> PathBuf {
        self.directory.path().join("home/.local/share/coldstart/installed/searching/manifest.json")
    }

    /// The program is the original, with nothing of ours beside it, and nothing is installed.
    #[track_caller]
    fn is_as_before(&self, original: &[u8]) {
        assert_eq!(fs::read(&self.program).unwrap(), original);
        assert_eq!(self.names_beside_the_program(), ["empty", "lib", "searching"]);
        assert!(!self.manifest().parent().unwrap().exists());
    }

    fn names_beside_the_program(&self) -> Vec<String> {
        let entries = fs::read_dir(self.program.parent().unwrap()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| text(entry.unwrap().file_name().as_encoded_bytes())).collect();
        names.sort();
        names
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Whether the loader tries files in the empty directories.
fn searches_in_vain(program: &Path) -> bool {
    let output = output_of(Command::new(program).env("LD_DEBUG", "libs"));
    let told = text(&output.stderr);
    assert!(told.contains("trying file="), "{told}");
    told.lines().any(|line| line.contains("trying file=") && line.contains("/empty/"))
}

#[test]
fn a_bound_program_is_installed_in_place_and_undone() {
    if !has_private_view() {
        return;
    }
    let scene = Scene::new();
    let original = fs::read(&scene.program).unwrap();
    assert!(searches_in_vain(&scene.program));
    let installed = scene.install(&["--json"]);
    succeeded(&installed);
    let installed = json(&installed);
    let program = scene.program.to_str().unwrap();
    assert_eq!(installed["fixes"][0]["changes"][0]["path"], program, "{installed:#}");
    assert_eq!(installed["installed"]["replaced_files"], serde_json::json!([program]), "{installed:#}");

    assert_ne!(fs::read(&scene.program).unwrap(), original);
    assert_eq!(text(&output_of(&mut Command::new(&scene.program)).stdout), "version 1\n");
    assert!(!searches_in_vain(&scene.program));
    assert_eq!(scene.names_beside_the_program(), [".searching.coldstart-original", "empty", "lib", "searching"]);
    let listed = succeeded(&scene.ours(&["installed", "searching", "--user"]));
    assert!(listed.contains("fresh") && listed.contains(program), "{listed}");

    // There is no plain start to measure any more.
    let again = scene.install(&["--json"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is installed with changed files"), "{}", text(&again.stderr));

    // A library that is found elsewhere now.
    let other = scene.program.with_file_name("empty").join("0/l7.so");
    fs::copy(scene.program.with_file_name("lib/l7.so"), &other).unwrap();
    let stale = scene.ours(&["installed", "searching", "--user", "--json"]);
    assert_eq!(stale.status.code(), Some(1), "{}", text(&stale.stderr));
    assert!(text(&stale.stdout).contains("the libraries that it was bound to"), "{}", text(&stale.stdout));
    succeeded(&scene.ours(&["installed", "searching", "--user", "--refresh"]));
    succeeded(&scene.ours(&["installed", "searching", "--user"]));
    // The loader opens a link of the installation; where that leads, it does not say.
    let links = scene.manifest().with_file_name("links");
    let leads_to = walk(&links).into_iter().find(|link| link.ends_with("l7.so")).unwrap();
    assert_eq!(leads_to.canonicalize().unwrap(), other.canonicalize().unwrap());

    succeeded(&scene.ours(&["speedup", "--uninstall", "--user", "--", program]));
    scene.is_as_before(&original);
}

/// All links below a directory.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => found.extend(walk(&path)),
            false => found.push(path),
        }
    }
    found
}

/// A kill right before an installation or a removal is complete leaves these records.
#[test]
fn an_interrupted_replacement_is_repaired() {
    if !has_private_view() {
        return;
    }
    let scene = Scene::new();
    let original = fs::read(&scene.program).unwrap();
    for state in ["installing", "uninstalling"] {
        succeeded(&scene.install(&["--json"]));
        let manifest = fs::read_to_string(scene.manifest()).unwrap();
        assert!(manifest.contains("\"installed\""));
        fs::write(scene.manifest(), manifest.replace("\"state\": \"installed\"", &format!("\"state\": \"{state}\"")))
            .unwrap();
        let listed = scene.ours(&["installed", "--user"]);
        assert!(text(&listed.stdout).contains("broken"), "{}", text(&listed.stdout));
        succeeded(&scene.ours(&["installed", "--repair", "--user"]));
        scene.is_as_before(&original);
        assert!(succeeded(&scene.ours(&["installed", "--user"])).contains("nothing is installed"));
    }
}

/// The check holds in the trial and fails once the program is in place: it looks for what only an installation makes.
#[test]
fn an_installation_that_changes_the_program_is_undone() {
    if !has_private_view() {
        return;
    }
    let scene = Scene::new();
    let original = fs::read(&scene.program).unwrap();
    let kept = scene.program.with_file_name(".searching.coldstart-original");
    let check = format!("test ! -e '{}'", kept.display());
    let refused = scene.install(&["--check", &check]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    let told = text(&refused.stderr);
    assert!(told.contains("nothing was installed") && told.contains("does not do what it did"), "{told}");
    scene.is_as_before(&original);
}
