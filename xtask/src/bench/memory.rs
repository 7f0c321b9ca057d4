//! The peak private memory of a program, found by polling.
//!
//! Not obvious: the kernel keeps a peak of all resident memory only (`VmHWM`), and that counts the pages
//! of mapped files as well, which are page cache and go away when memory is short. There is no peak of the rest, so we
//! look every half millisecond, over several runs. What comes and goes between two looks is missed: the greatest look
//! is a lower bound, near the truth for memory that is held for longer than that.

use std::time::Duration;

use anyhow::Result;
use coldstart_host::process::ProcessFiles;
use coldstart_host::text::kibibytes;
use serde::{Deserialize, Serialize};

use super::runner::Runner;

const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The peaks of one run, in bytes. A run is looked at in one of two ways: `smaps_rollup` has the kernel walk all page
/// tables, so that there are far fewer looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Peaks {
    /// How often something was seen.
    pub(super) looks: u32,
    /// `RssAnon` and `VmSwap` of `/proc/PID/status`: what belongs to no file, written pages of private mappings included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) anonymous: Option<u64>,
    /// `VmHWM` of the last look: with the resident pages of mapped files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resident: Option<u64>,
    /// `Private_Dirty` of `/proc/PID/smaps_rollup`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) private_dirty: Option<u64>,
    /// `Private_Dirty` and `Private_Clean` at the same look. The latter are pages of files that no other process has
    /// mapped just now, though they are page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) private: Option<u64>,
}

/// Runs a command `runs` times and looks at its status.
///
/// # Errors
/// When it cannot be started, fails, or we are interrupted.
pub(super) fn by_status(runner: &Runner, command: &[String], runs: u32) -> Result<Vec<Peaks>> {
    watch(runner, command, runs, "status", Peaks::see_status)
}

/// Runs a command `runs` times and looks at the sums over its mappings.
///
/// # Errors
/// When it cannot be started, fails, or we are interrupted.
pub(super) fn by_mappings(runner: &Runner, command: &[String], runs: u32) -> Result<Vec<Peaks>> {
    watch(runner, command, runs, "smaps_rollup", Peaks::see_mappings)
}

fn watch(
    runner: &Runner,
    command: &[String],
    runs: u32,
    file: &str,
    see: impl Fn(&mut Peaks, &[u8]) -> Option<()>,
) -> Result<Vec<Peaks>> {
    let mut all = Vec::new();
    for _ in 0..runs {
        let mut peaks = Peaks::default();
        runner.watched(command, LOOK_EVERY, &mut |process| {
            // A process that is ending has no memory any more, and no such lines.
            let text = std::fs::read(ProcessFiles::of(process).at(file)).unwrap_or_default();
            if see(&mut peaks, &text).is_some() {
                peaks.looks += 1;
            }
        })?;
        all.push(peaks);
    }
    Ok(all)
}

impl Peaks {
    /// `None` without change when the text says nothing of memory.
    fn see_status(&mut self, status: &[u8]) -> Option<()> {
        let anonymous = kibibytes(status, "RssAnon")?.saturating_add(kibibytes(status, "VmSwap")?);
        self.anonymous = self.anonymous.max(Some(anonymous));
        self.resident = self.resident.max(kibibytes(status, "VmHWM"));
        Some(())
    }

    /// `None` without change when the text says nothing of memory.
    fn see_mappings(&mut self, rollup: &[u8]) -> Option<()> {
        let dirty = kibibytes(rollup, "Private_Dirty")?;
        let clean = kibibytes(rollup, "Private_Clean")?;
        self.private_dirty = self.private_dirty.max(Some(dirty));
        self.private = self.private.max(Some(dirty.saturating_add(clean)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read_and_the_greatest_is_kept() {
        let mut peaks = Peaks::default();
        let status = |anonymous| {
            format!("VmHWM:\t   95000 kB\nRssAnon:\t   {anonymous} kB\nVmSwap:\t       1 kB\n").into_bytes()
        };
        assert!(peaks.see_status(&status(900)).is_some());
        assert!(peaks.see_status(&status(20)).is_some());
        assert!(peaks.see_status(b"State:\tZ (zombie)\n").is_none());
        assert_eq!((peaks.anonymous, peaks.resident), (Some(901 << 10), Some(95_000 << 10)));
        let rollup =
            b"563f-7ffd ---p 00000000 00:00 0    [rollup]\nPrivate_Clean:      300 kB\nPrivate_Dirty:       20 kB\n";
        assert!(peaks.see_mappings(rollup).is_some());
        assert_eq!((peaks.private_dirty, peaks.private), (Some(20 << 10), Some(320 << 10)));
    }

    #[test]
    fn memory_that_is_held_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let runner = Runner::new(directory.path().join("output.json")).unwrap();
        // A shell doubles a text to 4 MiB and keeps it for a while.
        let script = "a=0123456789abcdef; i=0; while [ $i -lt 18 ]; do a=$a$a; i=$((i+1)); done; sleep 1; : $a";
        let command = ["sh", "-c", script].map(str::to_owned);
        let held = 4 << 20;
        let [one, two] = by_status(&runner, &command, 2).unwrap().try_into().unwrap();
        assert!(one.looks > 1 && one.anonymous > Some(held) && two.resident > two.anonymous, "{one:?} {two:?}");
        let [sums] = by_mappings(&runner, &command, 1).unwrap().try_into().unwrap();
        assert!(sums.private_dirty > Some(held) && sums.private >= sums.private_dirty, "{sums:?}");
        assert!(by_status(&runner, &["false".to_owned()], 1).is_err());
    }
}
