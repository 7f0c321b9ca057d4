//! Place, time and source version of a measurement.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use coldstart_host::kernel::release;
use coldstart_host::machine;
use coldstart_host::process::ProcessFiles;
use fs_err as fs;
use serde::{Deserialize, Serialize};

/// The machine, as far as it bears on start-up times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// The first processor's model; empty if the kernel does not tell.
    pub(super) processor: String,
    pub(super) processor_count: usize,
    /// In bytes.
    pub(super) memory: u64,
    /// Release of the running kernel.
    pub(super) kernel: String,
}

impl Machine {
    pub(super) fn this() -> Result<Self> {
        let processors = fs::read(machine::PROCESSORS)?;
        let model = machine::processor_model(&processors).unwrap_or_default();
        Ok(Self {
            processor: String::from_utf8_lossy(model).into_owned(),
            processor_count: std::thread::available_parallelism()?.get(),
            memory: machine::Memory::here().total.context("the kernel does not report the amount of memory")?,
            kernel: release().context("the kernel does not report its release")?,
        })
    }

    /// One line for the reader.
    pub(super) fn line(&self) -> String {
        let processor = if self.processor.is_empty() { "processor of unknown model" } else { &self.processor };
        format!(
            "{processor}, {} processors online, {:.1} GiB of memory, Linux {}",
            self.processor_count,
            self.memory as f64 / f64::from(1 << 30),
            self.kernel
        )
    }
}

/// The sources that were built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sources {
    /// The commit's hash.
    pub(super) commit: String,
    /// Whether tracked files differed from it.
    pub(super) changed: bool,
}

impl Sources {
    pub(super) fn these() -> Result<Self> {
        let commit = git(&["rev-parse", "HEAD"])?;
        // Results of this very series are no change of the sources.
        let changes = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"])?;
        Ok(Self { commit: commit.trim().to_owned(), changed: !changes.is_empty() })
    }

    pub(super) fn line(&self) -> String {
        let short = self.commit.get(..12).unwrap_or(&self.commit);
        if self.changed { format!("{short} with uncommitted changes") } else { short.to_owned() }
    }
}

/// Processes that wanted to run on average over the last minute (proc_loadavg(5)).
pub(super) fn load() -> Result<f64> {
    machine::load_average(&fs::read(machine::LOAD)?).with_context(|| format!("{} is malformed", machine::LOAD))
}

/// Bytes that this process and the children it has waited for had the disks read so far (`read_bytes` of
/// proc_pid_io(5)): what was in the page cache is not among them.
pub(super) fn read_from_disk() -> Result<u64> {
    ProcessFiles::own().bytes_read().context("the kernel has no I/O accounting")
}

/// The time now in UTC, in date(1)'s own format.
pub(super) fn utc(format: &str) -> Result<String> {
    let output = Command::new("date").args(["--utc", &format!("+{format}")]).output().context("cannot start date")?;
    ensure!(output.status.success(), "date ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(crate::cargo::workspace())
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told() {
        let machine = Machine::this().unwrap();
        assert!(machine.processor_count > 0 && machine.memory > 0);
        assert!(machine.line().ends_with(&machine.kernel));
        assert!(load().unwrap() >= 0.0);
        assert_eq!(utc("%Y-%m-%d").unwrap().len(), 10);
    }

    #[test]
    fn sources_say_when_they_were_changed() {
        let clean = Sources { commit: "0123456789abcdef".into(), changed: false };
        assert_eq!(clean.line(), "0123456789ab");
        assert_eq!(Sources { changed: true, ..clean }.line(), "0123456789ab with uncommitted changes");
    }
}
