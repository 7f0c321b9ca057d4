//! Building the fuzz targets, and running one.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use coldstart_host::process::ProcessFiles;
use fs_err as fs;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::corpus;
use super::targets::{TARGETS, Target};
use crate::cargo::{target_directory, workspace};

/// For one input: more is a finding. No file that is an input here needs as much. The time is not that of the processor, and on a busy
/// machine one second becomes ten; so libFuzzer goes on after 10 s, and keeps the input as `slow-unit-...`.
const LIMITS: [&str; 3] = ["-rss_limit_mb=2048", "-report_slow_units=10", "-timeout=60"];
const HINT: &str = "hint: rustup toolchain install nightly --component llvm-tools; cargo install cargo-fuzz";

/// Where targets are built, and for what.
pub(super) struct Fuzzer {
    directory: PathBuf,
    /// The nightly compiler's host.
    host: String,
    /// The nightly compiler's directory.
    sysroot: PathBuf,
}

/// What came of a run.
pub(super) struct Outcome {
    pub(super) processor: Duration,
    pub(super) executions: u64,
    /// Inputs that reached something new.
    pub(super) found: u64,
    /// Why it ended before its time.
    pub(super) stopped: Option<String>,
}

impl Fuzzer {
    /// # Errors
    /// Without a nightly compiler or cargo-fuzz.
    pub(super) fn ready() -> Result<Self> {
        let version = answer(nightly("rustc").arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.context("rustc -vV does not name a host")?.to_owned();
        let sysroot = PathBuf::from(answer(nightly("rustc").args(["--print", "sysroot"]))?.trim());
        answer(nightly("cargo").args(["fuzz", "--version"]))?;
        let directory = target_directory()?.join("fuzz");
        fs::create_dir_all(&directory)?;
        Ok(Self { directory, host, sysroot })
    }

    /// A directory of the chore's own.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A program of the nightly compiler's component llvm-tools.
    pub(super) fn llvm_tool(&self, name: &str) -> Result<PathBuf> {
        let tool = self.sysroot.join("lib/rustlib").join(&self.host).join("bin").join(name);
        ensure!(tool.is_file(), "the nightly compiler has no {name}\n{HINT}");
        Ok(tool)
    }

    /// cargo-fuzz, which builds in a directory below ours.
    pub(super) fn cargo_fuzz(&self, verb: &str, built: &str) -> Command {
        let mut command = nightly("cargo");
        command.args(["fuzz", verb, "--target", &self.host, "--target-dir"]).arg(self.scratch(built));
        command
    }

    /// The program of a target as it was built.
    pub(super) fn program(&self, target: &Target, built: &str, profile: &str) -> PathBuf {
        self.scratch(built).join(&self.host).join(profile).join(target.name)
    }

    /// Builds these targets, with checks of memory accesses and arithmetic.
    pub(super) fn build(&self, targets: &[&Target]) -> Result<()> {
        // Without a name it builds all of them, which takes a fraction of the time.
        if targets.len() == TARGETS.len() {
            return crate::tools::run(&mut self.cargo_fuzz("build", "checked"));
        }
        for target in targets {
            crate::tools::run(self.cargo_fuzz("build", "checked").arg(target.name))?;
        }
        Ok(())
    }

    /// A target's program with the limits for each input.
    pub(super) fn command(&self, target: &Target) -> Command {
        let mut command = Command::new(self.program(target, "checked", "release"));
        command.args(LIMITS).current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Fuzzes one target for a time; its corpus grows.
    pub(super) fn run(&self, target: &Target, time: Duration) -> Result<Outcome> {
        let corpus = corpus::directory(target);
        let artifacts = workspace().join("fuzz/artifacts").join(target.name);
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&artifacts)?;
        let log = self.scratch(&format!("{}.log", target.name));
        let seconds = time.as_secs().max(1);
        eprintln!("{}: {seconds} s", target.name);
        let file = File::create(&log)?;
        let mut command = self.command(target);
        command.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus).args(target.seeds());
        let mut child = command.stdout(file.try_clone()?).stderr(file).spawn()?;
        // Its processor time is known until it is reaped.
        let number = child.id();
        let pid = Pid::from_raw(number.cast_signed()).context("a child has a number")?;
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        let ticks = ProcessFiles::of(number).stat().map_or(0, |stat| stat.ticks);
        let status = child.wait()?;
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let number = |name: &str| figure(&said, name).unwrap_or(0);
        Ok(Outcome {
            processor: Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64),
            executions: number("number_of_executed_units"),
            found: number("new_units_added"),
            stopped: (!status.success()).then(|| format!("{}: {status}; see {}", target.name, log.display())),
        })
    }
}

/// A program of the nightly toolchain, in the workspace's directory. rustup knows it by this name, whatever cargo runs this chore.
fn nightly(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(workspace());
    command
}

fn answer(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}\n{HINT}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}\n{HINT}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A figure of libFuzzer's `-print_final_stats`.
fn figure(log: &str, name: &str) -> Option<u64> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name))?;
    line.strip_prefix(':')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_end_of_a_log() {
        let log =
            "#2 INITED cov: 5\nDone 812 runs\nstat::number_of_executed_units: 812\nstat::new_units_added:          7\n";
        assert_eq!(figure(log, "number_of_executed_units"), Some(812));
        assert_eq!(figure(log, "new_units_added"), Some(7));
        assert_eq!(figure(log, "new_units"), None);
        assert_eq!(figure("", "new_units_added"), None);
    }
}
