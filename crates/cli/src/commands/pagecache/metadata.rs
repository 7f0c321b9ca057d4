//! `pagecache evict --metadata`: what went beside the files themselves.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{MetadataEviction, Taken, WayOutcome};
use serde::Serialize;

use crate::output::path::printable;
use crate::output::size::grouped;
use crate::output::wrap::wrapped;

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

    /// Evicts directory entries, inodes and metadata blocks. Last of all: looking at a file brings its inode back.
    pub(super) fn evict(self) -> Vec<JsonWay> {
        let mut eviction = MetadataEviction::for_files(self.0.into_iter().map(|(_, path)| path));
        eviction.all_ways().into_iter().map(JsonWay::from).collect()
    }
}

/// One way of evicting metadata, and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct JsonWay {
    /// "entries" or the device's path.
    way: String,
    /// "entries" or "pages", of 4096 bytes.
    unit: &'static str,
    before: Option<u64>,
    after: Option<u64>,
    /// Why it was not gone.
    refused: Option<String>,
}

impl From<WayOutcome> for JsonWay {
    fn from(outcome: WayOutcome) -> Self {
        let (way, unit) = (outcome.way.name(), outcome.way.unit());
        let (taken, refused) = match outcome.result {
            Ok(Taken { before, after }) => (Some((before, after)), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { way, unit, before: taken.map(|taken| taken.0), after: taken.map(|taken| taken.1), refused }
    }
}

/// Whether some way was not gone.
pub(super) fn is_partial(ways: &[JsonWay]) -> bool {
    ways.iter().any(|way| way.refused.is_some())
}

pub(super) fn report(ways: &[JsonWay]) -> String {
    let mut text = String::from("\nmetadata\n");
    for way in ways {
        let name = printable(Path::new(&way.way));
        let what = if way.way == "entries" { "directory entries and inodes that nobody uses".to_owned() } else { name };
        text.push_str(&wrapped(
            &match (way.before, way.after, &way.refused) {
                (Some(before), Some(after), _) => {
                    format!("{what}: {} {} before, {} after", grouped(before), way.unit, grouped(after))
                }
                (.., refused) => format!("{what}: not evicted: {}", refused.as_deref().unwrap_or("unknown")),
            },
            2,
        ));
    }
    text
}
