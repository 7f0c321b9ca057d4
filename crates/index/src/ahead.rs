//! What is asked and read before the interpreter starts.
//!
//! The interpreter still checks everything itself: a program that edits a module before it imports it must get the new one. What is asked
//! here only fills the kernel's caches, many requests at the same time, where the interpreter would wait for one after the other.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_host::mounts::{Mount, Mounts};
use coldstart_sys::named_file::open_regular;
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

use crate::guard::{Change, Guard, changes, in_parallel};
use crate::manifest::{LanguageIndex, Manifest, SourceFile};

/// Bytes of one request for reading: the kernel reads at most a window for each (`force_page_cache_ra` in `mm/readahead.c`).
const WINDOW: u64 = 128 << 10;
/// Most names that are asked of servers. A program that asks for more, such as an indexer of files, asks for others each time.
const MOST_NAMES: usize = 50_000;

/// What a start with the index asks of file servers, besides what each language's part has: templates, translations, metadata of packages,
/// names that are absent. On a disk of this machine it is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteNames {
    /// Names that are asked for, in the order of the recorded start. Some are absent.
    pub names: Vec<Vec<u8>>,
    /// Files that are opened, by their real paths.
    pub files: Vec<Vec<u8>>,
}

impl RemoteNames {
    /// Of those that a start asked for and opened, those of file servers that are neither in `parts` nor below the index itself.
    pub fn of<'a>(
        asked: impl Iterator<Item = &'a Path>,
        opened: impl Iterator<Item = &'a Path>,
        parts: &[LanguageIndex],
        index: &Path,
    ) -> Self {
        let Ok(mounts) = Mounts::here() else { return Self::default() };
        let guards = parts.iter().flat_map(|part| &part.guards).map(|guard| guard.path.as_path());
        let sources = parts.iter().flat_map(|part| &part.sources).map(|source| source.path.as_path());
        let files = parts.iter().flat_map(|part| &part.read_ahead).map(|path| as_path(path));
        let known: BTreeSet<&Path> = guards.chain(sources).chain(files).collect();
        let is_wanted = |path: &&Path| {
            !known.contains(path) && !path.starts_with(index) && mounts.of(path).is_some_and(Mount::is_remote)
        };
        let owned = |path: &Path| path.as_os_str().as_bytes().to_vec();
        Self {
            names: asked.filter(is_wanted).take(MOST_NAMES).map(owned).collect(),
            files: opened.filter(is_wanted).take(MOST_NAMES).map(owned).collect(),
        }
    }
}

/// The directories and files that an index depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checks {
    /// How many there are.
    pub made: usize,
    /// How many of them are other ones than when the index was made. Those that have only changed are not counted: directories do.
    pub replaced: usize,
}

/// Asks all that a start will check, at the same time, and has the kernel read the index's own files and those that a start opens. All of it
/// is only advice. Returns how many checks the interpreter will make, and how many of them find another file.
pub(crate) fn ask_ahead(content: &Path, manifest: &Manifest) -> Checks {
    let parts = &manifest.languages;
    for part in parts {
        for entry in std::fs::read_dir(content.join(part.language.directory())).into_iter().flatten().flatten() {
            read_ahead(&entry.path());
        }
    }
    // What has changed is found by the interpreter again, which then searches itself.
    let guards: Vec<_> = parts.iter().flat_map(checked).collect();
    let replaced = changes(&guards).iter().filter(|(_, change)| *change == Change::Replaced).count();
    let checks = Checks { made: guards.len(), replaced };
    // A name that is absent is remembered by the kernel as well.
    in_parallel(&manifest.remote.names, |_, name| drop(std::fs::metadata(as_path(name))));
    let files: Vec<_> = parts.iter().flat_map(|part| &part.read_ahead).chain(&manifest.remote.files).collect();
    in_parallel(&files, |_, file| read_start(as_path(file)));
    checks
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// What the interpreter will check.
fn checked(part: &LanguageIndex) -> impl Iterator<Item = Guard> {
    let source = |source: &SourceFile| Guard { path: source.path.clone(), identity: Some(source.identity) };
    part.guards.iter().cloned().chain(part.sources.iter().map(source))
}

/// Has the start of a file read: as much as the kernel reads for one request.
fn read_start(path: &Path) {
    if let Ok(file) = open_regular(path) {
        let _ = fadvise(&file, 0, None, Advice::WillNeed);
    }
}

/// Has a whole file read.
fn read_ahead(path: &Path) {
    let Ok(file) = open_regular(path) else { return };
    let size = file.metadata().map_or(0, |found| found.len());
    for window in 0..size.div_ceil(WINDOW) {
        let _ = fadvise(&file, window * WINDOW, NonZeroU64::new(WINDOW), Advice::WillNeed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_local_disk_is_asked_beforehand() {
        let local = tempfile::tempdir().unwrap();
        let file = local.path().join("file");
        std::fs::write(&file, "").unwrap();
        let here = || std::iter::once(file.as_path());
        assert_eq!(RemoteNames::of(here(), here(), &[], Path::new("/index")), RemoteNames::default());
    }
}
