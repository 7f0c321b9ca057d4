//! What of a file is in memory: residency and eviction.
//!
//! A page is *resident* when it is in the kernel's page cache, whoever brought it there; that says nothing about page
//! tables. Two kernel facilities tell: `cachestat` counts pages of a range, `mincore` lists them. Each of them lies or is
//! silent in some place (`cachestat` on overlayfs, `mincore` on block devices and on other people's files), so nobody else
//! in coldstart asks them directly.
//!
//! - [`residency()`], [`residency_of`], [`pages`]: what is resident, and where in the file.
//! - [`evict()`]: remove a file from the page cache, and find out what stayed; [`find_holders`] says who holds on to it.
//! - [`MetadataEviction`]: remove what belongs to files without being in them.
//! - [`SavedPageCache`], [`restore()`]: what of all files is resident, saved and brought back.
//! - [`Walk`]: the files of a tree, each once.

mod ask;
mod block_device;
mod cache_file;
mod error;
mod evict;
mod file_system;
mod holders;
mod metadata;
mod mounts;
mod permission;
mod residency;
mod saved;
mod survey;
mod walk;

pub use cache_file::CacheFile;
pub use error::Error;
pub use evict::{EvictOptions, Evicted, Stayed, evict};
pub use file_system::Backing;
pub use holders::{FileKey, Holder, Holders, find_holders};
pub use metadata::{MetadataEviction, Taken, Way, WayOutcome};
pub use residency::{Cached, Detail, KnownPages, Method, Residency, Unknown, pages, residency, residency_of};
pub use saved::SAVED_MAGIC;
pub use saved::{
    Came, Missing, MissingReason, Origin, PageTally, RestoreOptions, Restored, SaveNotes, SaveOptions, SavedError,
    SavedFile, SavedFormatError, SavedPageCache, UnseenDevice, restore,
};
pub use walk::{Found, Walk, WalkOptions, WalkSkips};
