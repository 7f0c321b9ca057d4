//! Walking trees: each file once.
//!
//! A directory stands for all regular files below it. Symbolic links are followed only where the caller named one; other
//! special files are skipped and counted. A file with several names counts once. Not obvious: trees of
//! kernel state (/proc, /sys) are not entered, because their files have no pages and opening some of them has
//! effects. Memory use stays small for any tree: entries come one by one, and only files that could come again are
//! remembered.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::cache_file::CacheFile;
use crate::error::Error;
use crate::file_system::shows_kernel_state;

/// How to walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkOptions {
    /// Stay on the file system of each named directory.
    pub one_file_system: bool,
}

/// What a walk has skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkSkips {
    /// Further names of files already seen.
    pub seen_before: u64,
    /// Symbolic links below the named directories.
    pub symbolic_links: u64,
    /// Devices, pipes and sockets below the named directories.
    pub special_files: u64,
    /// Directories of file systems that show kernel state.
    pub kernel_state: u64,
    /// Entries that were removed during the walk.
    pub vanished: u64,
}

/// A file found by a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path; begins as the caller named it.
    pub path: PathBuf,
    /// Whether the caller named this very path, rather than a directory above it.
    pub named: bool,
}

impl FoundFile {
    /// Opens it; symbolic links are followed if the caller named one.
    ///
    /// # Errors
    /// As [`CacheFile::open`]; see [`FoundFile::has_vanished`].
    pub fn open(&self) -> Result<CacheFile, Error> {
        CacheFile::open(&self.path, self.named)
    }

    /// Whether an error only means that the file was removed or replaced after the walk had found
    /// it: a race, not a failure. Paths named by the caller must exist.
    pub fn has_vanished(&self, error: &Error) -> bool {
        !self.named && (error.is_gone() || matches!(error, Error::NotAFile { .. }))
    }
}

/// An iterator over the files of some paths, each directory sorted by name. Errors name a path and do not end the walk.
#[derive(Debug)]
pub struct Walk {
    roots: std::vec::IntoIter<PathBuf>,
    several_roots: bool,
    options: WalkOptions,
    below: Option<Below>,
    /// Device and inode numbers of files that could come again.
    seen: HashSet<(u64, u64)>,
    skips: WalkSkips,
}

#[derive(Debug)]
struct Below {
    entries: walkdir::IntoIter,
    device: u64,
}

impl Walk {
    /// A walk over `paths`: files, block devices or directories.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>, options: WalkOptions) -> Self {
        let roots: Vec<PathBuf> = paths.into_iter().collect();
        Self {
            several_roots: roots.len() > 1,
            roots: roots.into_iter(),
            options,
            below: None,
            seen: HashSet::new(),
            skips: WalkSkips::default(),
        }
    }

    /// What was skipped so far.
    pub fn skips(&self) -> WalkSkips {
        self.skips
    }

    /// Starts on a named path: a directory is walked, anything else is returned.
    fn start(&mut self, path: PathBuf) -> Option<Result<FoundFile, Error>> {
        match fs::metadata(&path) {
            Err(source) => Some(Err(Error::Open { path, source })),
            Ok(metadata) if metadata.is_dir() => {
                if shows_kernel_state(&path) {
                    self.skips.kernel_state += 1;
                    return None;
                }
                let entries = WalkDir::new(&path)
                    .min_depth(1)
                    .same_file_system(self.options.one_file_system)
                    .sort_by_file_name()
                    .into_iter();
                self.below = Some(Below { entries, device: metadata.dev() });
                None
            }
            Ok(metadata) => self.found(FoundFile { path, named: true }, &metadata).map(Ok),
        }
    }

    /// Returns a file, unless it has come before.
    fn found(&mut self, found: FoundFile, metadata: &fs::Metadata) -> Option<FoundFile> {
        // In one tree on one file system, only files with several names come again. A second root may be inside the first,
        // and another file system may be mounted twice.
        let elsewhere = self.below.as_ref().is_some_and(|below| below.device != metadata.dev());
        let may_come_again = self.several_roots || elsewhere || metadata.nlink() > 1;
        if may_come_again && !self.seen.insert((metadata.dev(), metadata.ino())) {
            self.skips.seen_before += 1;
            return None;
        }
        Some(found)
    }

    /// The next file below the current directory; the outer `None` when that is done.
    fn advance(&mut self) -> Option<Option<Result<FoundFile, Error>>> {
        let below = self.below.as_mut()?;
        let entry = match below.entries.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(self.failed(error)),
        };
        let kind = entry.file_type();
        if kind.is_dir() {
            let is_other = entry.metadata().is_ok_and(|metadata| metadata.dev() != below.device);
            if is_other && shows_kernel_state(entry.path()) {
                // What is on another file system was not entered if we stay on one, and skipping would skip its parent.
                if !self.options.one_file_system {
                    below.entries.skip_current_dir();
                }
                self.skips.kernel_state += 1;
            }
            return Some(None);
        }
        if kind.is_symlink() {
            self.skips.symbolic_links += 1;
            return Some(None);
        }
        if !kind.is_file() {
            self.skips.special_files += 1;
            return Some(None);
        }
        match entry.metadata() {
            Ok(metadata) => Some(self.found(FoundFile { path: entry.into_path(), named: false }, &metadata).map(Ok)),
            Err(error) => Some(self.failed(error)),
        }
    }

    fn failed(&mut self, error: walkdir::Error) -> Option<Result<FoundFile, Error>> {
        let path = error.path().map(Path::to_owned).unwrap_or_default();
        let source = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of directories"));
        if source.kind() == io::ErrorKind::NotFound {
            self.skips.vanished += 1;
            return None;
        }
        Some(Err(Error::Walk { path, source }))
    }
}

impl Iterator for Walk {
    type Item = Result<FoundFile, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance() {
                Some(Some(found)) => return Some(found),
                Some(None) => {}
                None => {
                    self.below = None;
                    let path = self.roots.next()?;
                    if let Some(found) = self.start(path) {
                        return Some(found);
                    }
                }
            }
        }
    }
}
