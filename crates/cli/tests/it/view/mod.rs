//! `coldstart view`: what becomes of traces that are made by hand and of a real one, and what is left when it fails.
//!
//! The hand-made trace has hostile names: terminal escapes, line breaks, markup.

mod destinations;
mod failing;
mod formats;
mod kinds;
mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_profile::trace::Trace;
use coldstart_testing::skip;
use tempfile::TempDir;

use crate::text;
use crate::trace_show::scene;

/// A folder with a trace in it, `app.coldtrace`.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self::with(&scene::trace())
    }

    fn with(trace: &Trace) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.add("app.coldtrace", trace);
        place
    }

    fn add(&self, name: &str, trace: &Trace) {
        coldstart_tracefile::write_trace(&self.path(name), trace).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        command(self.folder.path()).args(words).output().unwrap()
    }

    /// Runs, and expects success.
    fn done(&self, words: &[&str]) -> Output {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        output
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, in order.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// `coldstart view` in a folder, without a display.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.arg("view").current_dir(folder).env("COLUMNS", "100").stdin(Stdio::null());
    for display in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"] {
        command.env_remove(display);
    }
    command
}
