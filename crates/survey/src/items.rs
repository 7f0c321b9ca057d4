//! The files of the sources, each in one shard.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{Walk, WalkOptions};
use coldstart_tables::ProblemRow;

use crate::source::{Source, SourceKind};

/// One file to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Which source.
    pub(crate) source: usize,
    /// The path below the source; empty for the source itself.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Last change: seconds and nanoseconds.
    modified: (i64, i64),
}

impl Item {
    /// By name alone, so that all processes agree, and new files change no other file's shard.
    pub(crate) fn shard(&self, sources: &[Source], shards: u32) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(sources.get(self.source).map(|source| source.name.as_bytes()).unwrap_or_default());
        hasher.update(&[0]);
        hasher.update(self.path.as_os_str().as_bytes());
        let start = hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default();
        (u64::from_le_bytes(start) % u64::from(shards.max(1))) as u32
    }

    /// Adds what the shard was made of.
    pub(crate) fn identify(&self, sources: &[Source], hasher: &mut blake3::Hasher) {
        hasher.update(sources.get(self.source).map(|source| source.name.as_bytes()).unwrap_or_default());
        hasher.update(&[0]);
        hasher.update(self.path.as_os_str().as_bytes());
        hasher.update(&[0]);
        for number in [self.bytes as i64, self.modified.0, self.modified.1] {
            hasher.update(&number.to_le_bytes());
        }
    }
}

/// All files, and directories that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// In the order of sources and names.
    pub(crate) all: Vec<Item>,
    pub(crate) problems: Vec<ProblemRow>,
}

/// Lists the files of all sources. What lies below `without` is left out.
pub(crate) fn list(sources: &[Source], one_file_system: bool, without: &Path) -> Items {
    let mut items = Items::default();
    for (number, source) in sources.iter().enumerate() {
        match &source.kind {
            SourceKind::Root | SourceKind::Directory => walk(number, source, one_file_system, without, &mut items),
            SourceKind::Archive(_) | SourceKind::Object | SourceKind::Layout(_) => {
                let file = match &source.kind {
                    SourceKind::Layout(_) => source.path.join("index.json"),
                    _ => source.path.clone(),
                };
                items.add(number, source, &file, PathBuf::new());
            }
        }
    }
    items
}

fn walk(number: usize, source: &Source, one_file_system: bool, without: &Path, items: &mut Items) {
    for found in Walk::new([source.path.clone()], WalkOptions { one_file_system }) {
        match found {
            Ok(found) => {
                let below = found.path.strip_prefix(&source.path).unwrap_or(&found.path).to_owned();
                if !found.path.starts_with(without) {
                    items.add(number, source, &found.path, below);
                }
            }
            Err(error) => items.problems.push(ProblemRow {
                source: source.name.clone(),
                archive: None,
                path: String::new(),
                problem: error.to_string(),
            }),
        }
    }
}

impl Items {
    fn add(&mut self, number: usize, source: &Source, file: &Path, path: PathBuf) {
        match std::fs::metadata(file) {
            Ok(found) => self.all.push(Item {
                source: number,
                path,
                bytes: found.len(),
                modified: (found.mtime(), found.mtime_nsec()),
            }),
            // It was removed since its directory was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.as_os_str().is_empty() => {}
            Err(error) => self.problems.push(ProblemRow {
                source: source.name.clone(),
                archive: None,
                path: coldstart_profile::printable(&path),
                problem: error.to_string(),
            }),
        }
    }
}
