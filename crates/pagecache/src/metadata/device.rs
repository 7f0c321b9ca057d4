//! The block devices under files: their pages are the file systems' metadata blocks.
//!
//! Evicting them affects all users of that file system, so it is only done if there are few: a file server
//! may have gigabytes of metadata in memory, which others need.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_host::block_device::BlockDevice;
use coldstart_host::machine::Memory;
use coldstart_host::mounts::Mounts;
use coldstart_profile::PAGE_SIZE;

use super::Taken;
use crate::block_device;
use crate::cache_file::CacheFile;
use crate::evict::EvictOptions;
use crate::mounts::MountKind;
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
    /// The end of a sentence.
    pub(super) reason: String,
}

impl MetadataDevice {
    /// Evicts its pages, unless they are too many.
    pub(super) fn evict(&self) -> Result<Taken, String> {
        let pages = |file: &CacheFile| {
            let residency = file.residency(Detail::Counts).map_err(|error| error.to_string())?;
            residency.resident_pages().ok_or_else(|| "its residency is hidden".to_owned())
        };
        let before = pages(&self.file)?;
        let all = Memory::here().page_cache.unwrap_or(0) / PAGE_SIZE;
        if before > SMALL && before.saturating_mul(MOST_PART) > all {
            return Err(format!(
                "its {before} pages are more than a hundredth of all {all} pages in memory, and other programs use them"
            ));
        }
        let evicted = self.file.evict(EvictOptions { write_first: true }).map_err(|error| error.to_string())?;
        Ok(Taken { before, after: evicted.after.resident_pages().unwrap_or(before) })
    }
}

/// The devices of the files' file systems, each once, in order; those that cannot be opened with the reason.
pub(super) fn devices_of(files: impl IntoIterator<Item = PathBuf>) -> (Vec<MetadataDevice>, Vec<Skipped>) {
    let mounts = Mounts::here().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let one_of_each = files.into_iter().filter(|file| fs::metadata(file).is_ok_and(|found| seen.insert(found.dev())));
    let nodes: BTreeSet<PathBuf> = one_of_each.filter_map(|file| device_beneath(&file, &mounts)).collect();
    let mut devices = Vec::new();
    let mut skipped = Vec::new();
    for device in nodes {
        match block_device::open(&device) {
            Ok(file) => devices.push(MetadataDevice { path: device, file }),
            Err(error) => {
                skipped.push(Skipped { reason: format!("cannot open `{}`: {error}", device.display()), device })
            }
        }
    }
    (devices, skipped)
}

/// `None` for file systems that live in memory, on a network, or on other file systems.
fn device_beneath(file: &Path, mounts: &Mounts) -> Option<PathBuf> {
    let mount = mounts.of(&fs::canonicalize(file).ok()?)?;
    let device = (MountKind::of(mount) == MountKind::Storage).then(|| BlockDevice::beneath(file, mounts))??;
    device.checked_node(&mount.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_have_no_device() {
        let (devices, skipped) =
            devices_of([PathBuf::from(coldstart_host::process::own::STATUS), PathBuf::from("/no/such/file")]);
        assert!(devices.is_empty() && skipped.is_empty());
    }
}
