//! Making caches cold for a recording.

use std::path::Path;

use anyhow::Context;

use crate::error::CliError;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

pub(crate) fn may_drop_caches() -> bool {
    rustix::fs::access(DROP_CACHES, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Drops all clean caches: pages, names and inodes.
pub(crate) fn drop_caches() -> Result<(), CliError> {
    // Only clean pages are dropped.
    rustix::fs::sync();
    Ok(std::fs::write(DROP_CACHES, "3").context("cannot drop the caches")?)
}

/// Evicts one file's pages; what cannot be evicted stays.
pub(crate) fn evict(path: &Path) {
    if let Ok(file) = std::fs::File::open(path) {
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
}
