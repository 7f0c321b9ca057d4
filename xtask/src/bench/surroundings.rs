//! Where, when and of which sources something was measured.

use std::process::Command;

use anyhow::{Context, Result, ensure};
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
        let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
        let meminfo = fs::read_to_string("/proc/meminfo")?;
        Ok(Self {
            processor: field(&cpuinfo, "model name").unwrap_or_default().to_owned(),
            processor_count: std::thread::available_parallelism()?.get(),
            memory: memory(&meminfo).context("/proc/meminfo has no MemTotal")?,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
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
    let text = fs::read_to_string("/proc/loadavg")?;
    text.split_whitespace().next().and_then(|first| first.parse().ok()).context("/proc/loadavg is odd")
}

/// Bytes that this process and the children it has waited for had the disks read so far (`read_bytes` of
/// proc_pid_io(5)): what was in the page cache is not among them.
pub(super) fn read_from_disk() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    field(&text, "read_bytes").and_then(|bytes| bytes.parse().ok()).context("/proc/self/io has no read_bytes")
}

/// The time now in UTC, in date(1)'s own format.
pub(super) fn utc(format: &str) -> Result<String> {
    let output = Command::new("date").args(["--utc", &format!("+{format}")]).output().context("cannot start date")?;
    ensure!(output.status.success(), "date ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output =
        Command::new("git").args(arguments).current_dir(crate::workspace()).output().context("cannot start git")?;
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The value of the first `name : value` line.
pub(super) fn field<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(found, value)| (found.trim(), value.trim())).find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// `MemTotal`, in bytes; the kernel counts in KiB.
fn memory(meminfo: &str) -> Option<u64> {
    kib_field(meminfo, "MemTotal")
}

/// The value of a `name : value kB` line, in bytes; that is how the kernel writes sizes of memory in /proc.
pub(super) fn kib_field(text: &str, name: &str) -> Option<u64> {
    let kib: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lists_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field(cpuinfo, "bogomips"), None);
        assert_eq!(memory("MemTotal:       24669 kB\nMemFree: 1 kB\n"), Some(24669 * 1024));
        assert_eq!(memory("MemTotal: many kB\n"), None);
    }

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
