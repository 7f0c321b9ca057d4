//! `pagecache restore`: restore a saved state, and report how close the result is.

use std::path::Path;

use coldstart_pagecache::{Missing, NameTally, PageTally, RestoreOptions, Restored, SavedPageCache};
use coldstart_profile::{JsonPath, PAGE_SIZE};
use serde::{Serialize, Serializer};

use crate::error::AppError;

/// The name and version of the JSON schema.
pub const RESTORE_SCHEMA: &str = "coldstart.pagecache.restore/1";

/// A restored state.
#[derive(Debug)]
pub struct Restoration {
    /// The saved state.
    pub saved: SavedPageCache,
    /// Its outcome.
    pub restored: Restored,
}

/// Restores a saved state. With `drop`, the page cache of the whole machine is dropped first.
///
/// # Errors
/// If the file is not a saved state, or the page cache cannot be dropped.
pub fn restore(file: &Path, drop: bool) -> Result<Restoration, AppError> {
    let saved = SavedPageCache::read(file)?;
    let options = RestoreOptions { drop, ..RestoreOptions::default() };
    let restored = coldstart_pagecache::restore(&saved, &options)?;
    Ok(Restoration { saved, restored })
}

impl Serialize for Restoration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { saved, restored } = self;
        let pages = |tally: PageTally| Pages {
            count: tally.count,
            asked: tally.asked,
            back: tally.back,
            missing: tally.asked.saturating_sub(tally.back),
            extra: tally.extra,
        };
        let names = |came: NameTally| Names { asked: came.asked, back: came.back };
        let missing = |missing: &Missing| JsonMissing {
            path: JsonPath::new(&missing.path),
            pages: missing.pages,
            reason: missing.reason.name(),
            text: missing.reason.to_string(),
        };
        let origin = saved.origin();
        let body = Body {
            page_size: PAGE_SIZE,
            close: restored.is_close(),
            dropped: restored.dropped,
            files: pages(restored.files),
            devices: pages(restored.devices),
            directories: names(restored.directories),
            symbolic_links: names(restored.links),
            missing: restored.missing.iter().map(missing).collect(),
            pages_read_twice: restored.read_twice,
            page_cache_bytes_before: restored.cache_before,
            page_cache_bytes_after: restored.cache_after,
            page_cache_bytes_elsewhere: restored.elsewhere(),
            seconds: restored.reading.as_secs_f64(),
            saved: SavedOn {
                at: origin.saved_at,
                kernel: String::from_utf8_lossy(&origin.kernel).into_owned(),
                this_boot: origin.is_this_boot(),
                whole_system: origin.is_whole_system,
                hidden_files: origin.hidden_files,
                hidden_devices: origin.hidden_devices,
            },
        };
        body.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Pages {
    count: u64,
    asked: u64,
    back: u64,
    missing: u64,
    extra: u64,
}
#[derive(Serialize)]
struct Names {
    asked: u64,
    back: u64,
}
#[derive(Serialize)]
struct JsonMissing {
    #[serde(flatten)]
    path: JsonPath,
    pages: u64,
    reason: &'static str,
    text: String,
}
#[derive(Serialize)]
struct SavedOn {
    /// Seconds since 1970-01-01 UTC.
    at: i64,
    kernel: String,
    this_boot: bool,
    whole_system: bool,
    hidden_files: u64,
    hidden_devices: u32,
}
#[derive(Serialize)]
struct Body {
    page_size: u64,
    close: bool,
    dropped: bool,
    files: Pages,
    devices: Pages,
    directories: Names,
    symbolic_links: Names,
    missing: Vec<JsonMissing>,
    pages_read_twice: u64,
    page_cache_bytes_before: Option<u64>,
    page_cache_bytes_after: Option<u64>,
    page_cache_bytes_elsewhere: Option<u64>,
    seconds: f64,
    saved: SavedOn,
}
