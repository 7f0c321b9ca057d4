//! Trials on the file system of one place.

use std::path::{Path, PathBuf};

use coldstart_host::block_device::BlockDevice;
use coldstart_host::mounts::Mounts;
use coldstart_sys::fiemap::fiemap;
use rustix::fs::OFlags;

use super::PlaceProbe;
use super::calls::open_quietly;
use crate::answer::Answer;
use crate::file_system::{Kind, device_path};

/// Directory entries checked to find a file for the trials.
const MOST_ENTRIES: usize = 200;

/// Runs in a thread that may be abandoned: the file system may not respond.
pub(super) fn try_place(name: &'static str, path: PathBuf, mounts: &Mounts) -> PlaceProbe {
    let mut probe = PlaceProbe { name, path, ..PlaceProbe::default() };
    let real = match std::fs::canonicalize(&probe.path) {
        Ok(real) => real,
        Err(error) => {
            probe.fiemap = Answer::of_io::<()>(Err(error));
            probe.direct = probe.fiemap.clone();
            return probe;
        }
    };
    let mount = mounts.of(&real);
    if mount.is_some_and(|mount| Kind::of(mount).may_hang()) {
        probe.fiemap = Answer::Untried("skipped: the file system may not respond".to_owned());
        probe.direct = probe.fiemap.clone();
        probe.real_path = Some(real);
        return probe;
    }
    probe.kind = rustix::fs::statfs(&real).ok().map(|found| Kind::of_magic(found.f_type as u64 & 0xffff_ffff));
    match some_file(&real) {
        Some(file) => {
            let mapped = open_quietly(&file, OFlags::empty()).map(|file| fiemap(file).map_err(|error| error.errno()));
            probe.fiemap = mapped.map_or_else(|error| Answer::of_io::<()>(Err(error)), Answer::of);
            probe.direct = Answer::of_io(open_quietly(&file, OFlags::DIRECT));
        }
        None => {
            probe.fiemap = Answer::Untried(format!("no file in {} to try it on", real.display()));
            probe.direct = probe.fiemap.clone();
        }
    }
    let source = mount.and_then(|mount| {
        // The device's own name in `/dev`, as in recordings: the mount table may contain `/dev/root`.
        BlockDevice::numbered(mount.device).node().or_else(|| device_path(mount).map(Path::to_owned))
    });
    probe.device = source.map(|source| {
        let opened = Answer::of_io(open_quietly(&source, OFlags::empty()));
        (source, opened)
    });
    probe.real_path = Some(real);
    probe
}

/// A readable file with content in a directory, or one directory deeper, on the same file system.
fn some_file(directory: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(directory).ok()?.dev();
    let mut below = Vec::new();
    let look = |directory: &Path, keep: Option<&mut Vec<PathBuf>>| {
        let mut directories = Vec::new();
        let mut found = None;
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            // Of the entry itself: a link may lead anywhere.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.dev() != device {
                continue;
            }
            if metadata.is_file() && metadata.len() > 0 && open_quietly(&entry.path(), OFlags::empty()).is_ok() {
                found = Some(entry.path());
                break;
            }
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
        if let Some(keep) = keep {
            *keep = directories;
        }
        found
    };
    if let Some(file) = look(directory, Some(&mut below)) {
        return Some(file);
    }
    below.iter().take(8).find_map(|directory| look(directory, None))
}
