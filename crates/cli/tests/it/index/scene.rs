//! A tree of modules, programs that use it, and an index for them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::text;

/// Debian's own, which the tests install. Others may stand before it in PATH.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

pub(crate) struct Scene {
    directory: tempfile::TempDir,
    /// Added to the environment of every program.
    pub(crate) variables: Vec<(String, String)>,
}

impl Scene {
    /// An empty directory on a real disk.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { directory, variables: Vec::new() }
    }

    /// Without symbolic links.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn text_of(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and the directories that lead to it.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Sets a variable to these directories, separated by colons. Names with a slash or a dot in front are taken as they are.
    pub(crate) fn search(&mut self, variable: &str, entries: &[&str]) {
        let entry = |entry: &&str| match entry.starts_with(['/', '.']) || entry.is_empty() {
            true => (*entry).to_owned(),
            false => self.text_of(entry),
        };
        let value = entries.iter().map(entry).collect::<Vec<_>>().join(":");
        self.variables.retain(|(name, _)| name != variable);
        self.variables.push((variable.to_owned(), value));
    }

    /// A command in this directory, with nothing in its environment but what the scene says.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.root()).env("LC_ALL", "C.UTF-8");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.root()).stdin(Stdio::null());
        command
    }

    pub(crate) fn coldstart(&self, words: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_coldstart")).arg("index").args(words).output().unwrap()
    }

    /// Makes the index `index` for a program, which has to be kept.
    #[track_caller]
    pub(crate) fn make(&self, program: &[&str]) -> Value {
        let output = self.coldstart(&[&["make", "--json", "-o", "index", "--"], program].concat());
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a program prints, and how it ends.
    pub(crate) fn plain(&self, program: &[&str]) -> Output {
        self.command(program[0]).args(&program[1..]).output().unwrap()
    }

    /// The same with the index.
    pub(crate) fn indexed(&self, program: &[&str]) -> Output {
        self.coldstart(&[&["run", "index", "--"], program].concat())
    }

    /// Starts a program both ways, which have to agree; returns what it printed.
    #[track_caller]
    pub(crate) fn same(&self, program: &[&str]) -> String {
        let (plain, indexed) = (self.plain(program), self.indexed(program));
        let told = |output: &Output| (output.status.code(), text(&output.stdout), text(&output.stderr));
        assert_eq!(told(&indexed), told(&plain), "{program:?}");
        text(&plain.stdout)
    }

    /// Makes the index for a program and starts it both ways, which have to agree. Returns what it printed.
    #[track_caller]
    pub(crate) fn made_and_same(&self, program: &[&str]) -> String {
        self.make(program);
        self.same(program)
    }

    /// The answer of `index check`: its exit code, and its object.
    pub(crate) fn check(&self) -> (Option<i32>, Value) {
        let output = self.coldstart(&["check", "--json", "index"]);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    }

    /// Every name below a directory with what `stat` says of it, but for times of access.
    pub(crate) fn snapshot(&self, below: &str) -> Vec<String> {
        let mut told = Vec::new();
        walk(&self.path(below), &mut told);
        told
    }
}

fn walk(path: &Path, told: &mut Vec<String>) {
    let found = fs::symlink_metadata(path).unwrap();
    let (mtime, ctime) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    told.push(format!("{} {} {} {mtime:?} {ctime:?}", path.display(), found.ino(), found.size()));
    if found.is_dir() {
        let mut below: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        below.sort();
        for path in below {
            walk(&path, told);
        }
    }
}
