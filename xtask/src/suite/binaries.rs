//! The test programs that cargo builds, and the tests in them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::cargo::cargo;

/// A test program.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Binary {
    /// The package's name.
    pub(crate) package: String,
    /// The target's name: a library's or program's for unit tests, a file's or directory's in `tests/` for others.
    pub(crate) name: String,
    /// Where it lies.
    pub(crate) executable: PathBuf,
    /// The package's directory, in which cargo starts tests, too.
    pub(crate) directory: PathBuf,
    /// Whether its source lies in `tests/`; otherwise it holds a library's or a program's unit tests.
    pub(crate) is_integration: bool,
}

#[cfg(test)]
impl Binary {
    /// One of a package that nobody has built.
    pub(super) fn for_tests(package: &str, is_integration: bool) -> Self {
        let name = if is_integration { "it" } else { package }.to_owned();
        Self { package: package.to_owned(), name, executable: "".into(), directory: "".into(), is_integration }
    }
}

/// What cargo says of a thing that it has built; only what is used here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Has cargo build all tests, and the examples that some of them start.
pub(crate) fn build() -> Result<Vec<Binary>> {
    build_by(cargo())
}

/// The same by a cargo that was told for which processor.
pub(crate) fn build_by(mut command: Command) -> Result<Vec<Binary>> {
    command.args(["test", "--workspace", "--no-run", "--quiet", "--message-format", "json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut binaries = Vec::new();
    let messages = child.stdout.take().context("cargo has no output")?;
    for line in BufReader::new(messages).lines() {
        let Ok(message) = serde_json::from_str::<Message>(&line?) else { continue };
        binaries.extend(of_message(message));
    }
    ensure!(child.wait()?.success(), "the tests cannot be built");
    binaries.sort_by(|one, other| (&one.package, &one.name).cmp(&(&other.package, &other.name)));
    Ok(binaries)
}

fn of_message(message: Message) -> Option<Binary> {
    let is_test = message.reason == "compiler-artifact" && message.profile.is_some_and(|profile| profile.test);
    let directory = message.manifest_path?.parent()?.to_owned();
    // Each package's directory is named after it, without our prefix.
    let package = directory.file_name()?.to_string_lossy().into_owned();
    is_test.then_some(())?;
    let target = message.target?;
    let is_integration = target.kind.iter().any(|kind| kind == "test");
    Some(Binary { package, name: target.name, executable: message.executable?, directory, is_integration })
}

impl Binary {
    /// The names of its tests, without those that only run when asked for by name.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let ignored = self.list(&["--ignored"])?;
        Ok(self.list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
    }

    fn list(&self, which: &[&str]) -> Result<Vec<String>> {
        let output = self.command().args(["--list", "--format", "terse"]).args(which).output();
        let output = output.with_context(|| format!("cannot start {}", self.executable.display()))?;
        ensure!(output.status.success(), "{} does not list its tests", self.executable.display());
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// A command that starts it as cargo would.
    pub(super) fn command(&self) -> Command {
        // Shells start what stands in the background with interrupts ignored, and `nohup` ignores hang-ups; tests of signals
        // would inherit that.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT").arg(&self.executable).current_dir(&self.directory);
        command.env("CARGO_MANIFEST_DIR", &self.directory).env("CARGO", cargo().get_program());
        command.env("COLDSTART_EXAMPLES_BUILT", "1").stdin(Stdio::null());
        command
    }
}
