//! `pagecache`: show and change which pages of files are resident.

mod coverage;
mod evict;
mod metadata;
mod passage;
mod reasons;
mod restore;
mod save;
mod shortlist;
mod show;

pub use coverage::{ALL, CELLS, coverage};
pub use evict::{EVICT_SCHEMA, EvictOptions, EvictTotal, EvictedFile, Evictions, evict};
pub use metadata::MetadataWay;
pub use passage::{FilesOptions, Passed, Untold};
pub use restore::{RESTORE_SCHEMA, Restoration, restore};
pub use save::{SAVE_SCHEMA, SaveOptions, Saved, Saving, pages_of, save};
pub use show::{SHOW_SCHEMA, ShowOptions, ShowTotal, Shown, ShownFile, show};

/// Which files are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListOptions {
    /// Their order; `None` as they were found, where something stayed in front.
    pub sort: Option<SortKey>,
    /// How many at most, the first in that order; 0 for all. Totals always cover all.
    pub limit: usize,
}

/// What files are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Largest file first.
    Size,
    /// Most resident pages first.
    Resident,
    /// By path, byte by byte.
    Path,
}
