//! Page cache residency, eviction, and saved states.
//!
//! A page is *resident* when it is in the kernel's page cache, for whatever reason; that says nothing about page
//! tables. Two kernel facilities report it: `cachestat` counts pages of a range, `mincore` lists them. Each of them is wrong or
//! fails in some cases (`cachestat` on overlayfs, `mincore` on block devices and on other users' files), so only this crate
//! calls them.
//!
//! - [`residency()`], [`residency_of`], [`pages`]: which pages of a file are resident.
//! - [`evict()`]: evict a file from the page cache, and report remaining pages; [`find_holders`] lists the processes that keep them.
//! - [`MetadataEviction`]: evict the metadata of files.
//! - [`SavedPageCache`], [`restore()`]: save the residency of all files, and restore it.
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
    Missing, MissingReason, NameTally, Origin, PageTally, RestoreOptions, Restored, SaveNotes, SaveOptions, SavedError,
    SavedFile, SavedFormatError, SavedPageCache, UnseenDevice, restore,
};
pub use walk::{FoundFile, Walk, WalkOptions, WalkSkips};
