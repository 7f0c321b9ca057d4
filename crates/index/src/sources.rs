//! Sources whose code is kept in a pack: only those that every later change can be told of.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use crate::directories::PATIENCE;
use crate::identity::Identity;
use crate::listing::{Times, unsettled_for};
use crate::manifest::SourceFile;

impl SourceFile {
    /// A source as it is now. `None` if it is not a regular file, or cannot be asked.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Self { path: path.to_owned(), identity: Identity::of_metadata(&found), bytes: found.len() })
    }

    /// Whether everybody has permission to read it.
    pub(crate) fn is_public(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.mode() & 0o004 != 0)
    }
}

/// Sources by path, each once. Waits for those that have just changed, and leaves out those that keep changing.
pub(crate) fn settled_sources<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<SourceFile> {
    let paths: BTreeSet<&Path> = paths.into_iter().collect();
    let now = SystemTime::now();
    let wait =
        paths.iter().filter_map(|path| unsettled_for(&SourceFile::of(path)?.identity, Times::Nanoseconds, now)).max();
    if let Some(wait) = wait {
        std::thread::sleep(wait.min(PATIENCE));
    }
    let now = SystemTime::now();
    let sources = paths.iter().filter_map(|path| SourceFile::of(path));
    sources.filter(|source| unsettled_for(&source.identity, Times::Nanoseconds, now).is_none()).collect()
}
