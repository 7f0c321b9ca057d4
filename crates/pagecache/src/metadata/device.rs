//! The block devices under files: their pages are the file systems' metadata blocks.
//!
//! Evicting them touches everybody's metadata on that file system, so it is only done where it is little: a file server
//! may keep gigabytes of it, which others need.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::Taken;
use crate::cache_file::CacheFile;
use crate::evict::EvictOptions;
use crate::residency::Detail;

/// A device's pages are spared if they are more than this part of the whole page cache ...
const MOST_PART: u64 = 100;
/// ... and more than this many pages (16 MiB): a small cache has little to lose.
const SMALL: u64 = 4096;

/// A device that may be opened.
#[derive(Debug)]
pub(super) struct MetadataDevice {
    pub(super) path: PathBuf,
    file: CacheFile,
}

/// A device whose pages we cannot reach.
#[derive(Clone, Debug)]
pub(super) struct Skipped {
    pub(super) device: PathBuf,
    /// A sentence's end.
    pub(super) reason: String,
}

impl MetadataDevice {
    /// Evicts its pages, unless they are too many for others to lose.
    pub(super) fn evict(&self) -> Result<Taken, String> {
        let pages = |file: &CacheFile| {
            let residency = file.residency(Detail::Counts).map_err(|error| error.to_string())?;
            residency.resident_pages().ok_or_else(|| "the kernel does not tell what of it is in memory".to_owned())
        };
        let before = pages(&self.file)?;
        let all = cached_pages();
        if before > SMALL && before.saturating_mul(MOST_PART) > all {
            return Err(format!(
                "its {before} pages are more than a hundredth of all {all} pages in memory, and other programs' too"
            ));
        }
        let evicted = self.file.evict(EvictOptions { write_first: true }).map_err(|error| error.to_string())?;
        Ok(Taken { before, after: evicted.after.resident_pages().unwrap_or(before) })
    }
}

/// The devices of the files' file systems, each once, in order; those that cannot be opened with the reason.
pub(super) fn devices_of(files: impl IntoIterator<Item = PathBuf>) -> (Vec<MetadataDevice>, Vec<Skipped>) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let numbers: BTreeSet<u64> = files.into_iter().filter_map(|file| Some(fs::metadata(file).ok()?.dev())).collect();
    let numbers = numbers.into_iter().map(|number| format!("{}:{}", major(number), minor(number)));
    let nodes: BTreeSet<PathBuf> =
        numbers.filter_map(|number| node(&number).or_else(|| mounted_from(&mounts, &number))).collect();
    let mut devices = Vec::new();
    let mut skipped = Vec::new();
    for device in nodes {
        match CacheFile::open(&device, true) {
            Ok(file) => devices.push(MetadataDevice { path: device, file }),
            Err(error) => skipped.push(Skipped { reason: with_source(&error), device }),
        }
    }
    (devices, skipped)
}

/// `/dev/NAME` of a device number, from the kernel's own name for it.
fn node(number: &str) -> Option<PathBuf> {
    let facts = fs::read_to_string(format!("/sys/dev/block/{number}/uevent")).ok()?;
    let name = facts.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(Path::new("/dev").join(name))
}

/// Some file systems (btrfs) number themselves and not their devices; then the mount table tells. `None` for those that
/// live in memory or on a network.
fn mounted_from(mounts: &str, number: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let source = after.split(' ').nth(1).filter(|_| before.split(' ').nth(2) == Some(number))?;
        source.starts_with("/dev/").then(|| PathBuf::from(source))
    })
}

/// All pages in the page cache, block devices' included (`/proc/meminfo`: `Cached` and `Buffers`, in KiB).
fn cached_pages() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
        value.unwrap_or(0u64)
    };
    (kib("Cached:").saturating_add(kib("Buffers:"))) / 4
}

fn with_source(error: &crate::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_number_themselves_are_found_by_their_mount() {
        let mounts = "36 35 0:31 / / rw shared:1 - btrfs /dev/sda2 rw\n40 36 0:40 / /tmp rw - tmpfs tmpfs rw\n";
        assert_eq!(mounted_from(mounts, "0:31"), Some("/dev/sda2".into()));
        assert_eq!(mounted_from(mounts, "0:40"), None);
    }

    #[test]
    fn files_in_memory_have_no_device() {
        let (devices, skipped) = devices_of([PathBuf::from("/proc/self/status"), PathBuf::from("/no/such/file")]);
        assert!(devices.is_empty() && skipped.is_empty());
    }

    #[test]
    fn this_machine_has_cached_pages() {
        assert!(cached_pages() > 0);
    }
}
