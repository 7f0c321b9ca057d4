//! `pagecache evict --metadata`: evicting metadata.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{MetadataEviction, Taken, WayOutcome};
use serde::Serialize;

/// One file of each file system that was gone over: enough to find their devices.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<(u64, PathBuf)>);

impl Places {
    pub(super) fn add(&mut self, path: &Path) {
        let Ok(found) = std::fs::metadata(path) else { return };
        if !self.0.iter().any(|(device, _)| *device == found.dev()) {
            self.0.push((found.dev(), path.to_owned()));
        }
    }

    /// Evicts directory entries, inodes and metadata blocks. This comes last, because examining a file loads its inode again.
    pub(super) fn evict(self) -> Vec<MetadataWay> {
        let mut eviction = MetadataEviction::for_files(self.0.into_iter().map(|(_, path)| path));
        eviction.all_ways().into_iter().map(MetadataWay::from).collect()
    }
}

/// One method of evicting metadata, and its result.
#[derive(Debug, Serialize)]
pub struct MetadataWay {
    /// "entries" or the device's path.
    pub way: String,
    /// "entries" or "pages", of 4096 bytes.
    pub unit: &'static str,
    /// How many there were.
    pub before: Option<u64>,
    /// How many are left.
    pub after: Option<u64>,
    /// Why it failed.
    pub refused: Option<String>,
}

impl From<WayOutcome> for MetadataWay {
    fn from(outcome: WayOutcome) -> Self {
        let (way, unit) = (outcome.way.name(), outcome.way.unit());
        let (taken, refused) = match outcome.result {
            Ok(Taken { before, after }) => (Some((before, after)), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { way, unit, before: taken.map(|taken| taken.0), after: taken.map(|taken| taken.1), refused }
    }
}
