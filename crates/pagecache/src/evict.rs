//! Evicting a file from the page cache, and explaining remaining pages.
//!
//! `posix_fadvise(POSIX_FADV_DONTNEED)` is advice: the kernel drops what it can and reports success in any case. So the
//! result is the residency before and after, never the return value. What stays: dirty pages, pages in a
//! process's page table (locked or not), pages referenced by something else at that moment, and everything on memory-backed file
//! systems. Eviction needs only an open file; seeing the remaining pages needs more permission.
//!
//! Source: `mm/fadvise.c`, `generic_fadvise`; `mm/truncate.c`, `mapping_try_invalidate`, `mapping_evict_folio`.

use std::os::fd::AsFd;
use std::path::Path;

use coldstart_host::block_device::DeviceNumber;
use coldstart_host::mounts::Mounts;
use rustix::fs::{Advice, fadvise, fdatasync};

use crate::cache_file::CacheFile;
use crate::error::Error;
use crate::file_system::Backing;
use crate::holders::Holder;
use crate::residency::{Cached, Detail, Residency, Unknown};

/// How to evict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictOptions {
    /// Write dirty pages to disk first (`fdatasync(2)`). Otherwise they stay.
    pub write_first: bool,
}

/// The result of evicting a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Residency before.
    pub before: Residency,
    /// Residency after.
    pub after: Residency,
    /// A file system is mounted from the block device.
    pub is_mounted: bool,
}

/// Why pages stayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stayed {
    /// The file system is memory-backed: the pages exist nowhere else.
    InMemory,
    /// Dirty or being written; a number of pages.
    Unwritten(u64),
    /// In the page tables of processes.
    Held(Vec<Holder>),
    /// A file system is mounted from the block device and keeps some of its metadata referenced.
    Mounted,
    /// The pages may belong to a file of the lower file system.
    Layered,
    /// Referenced by something else: a process that could not be inspected, one in a container under another
    /// name, or the kernel during I/O.
    InUse {
        /// Processes that could not be inspected.
        unreadable_processes: u64,
    },
    /// Not yet written, or referenced by something else: before Linux 6.5 (`cachestat`) the kernel does not tell which.
    UnwrittenOrInUse,
    /// The kernel does not show whether pages stayed.
    NotTold(Unknown),
}

impl Evicted {
    /// Whether all pages are known to be evicted.
    pub fn is_gone(&self) -> bool {
        self.after.resident_pages() == Some(0)
    }

    /// Why pages stayed, most certain reason first; empty when all are evicted.
    ///
    /// `holders` are the processes with pages of this file in their page tables, `unreadable_processes` those that
    /// could not be inspected; see [`crate::find_holders`].
    pub fn reasons(&self, holders: &[Holder], unreadable_processes: u64) -> Vec<Stayed> {
        let known = match &self.after.cached {
            Cached::Unknown(unknown) => return vec![Stayed::NotTold(*unknown)],
            Cached::Known(known) if known.resident_pages == 0 => return Vec::new(),
            Cached::Known(known) => known,
        };
        if self.after.backing == Backing::Memory {
            return vec![Stayed::InMemory];
        }
        let mut reasons = Vec::new();
        let unwritten = known.dirty_pages.unwrap_or(0) + known.writeback_pages.unwrap_or(0);
        if unwritten > 0 {
            reasons.push(Stayed::Unwritten(unwritten.min(known.resident_pages)));
        }
        if !holders.is_empty() {
            reasons.push(Stayed::Held(holders.to_vec()));
        }
        if self.is_mounted {
            reasons.push(Stayed::Mounted);
        }
        // Dirty pages explain only themselves; the rest needs a reason, too.
        if holders.is_empty() && !self.is_mounted && unwritten < known.resident_pages {
            reasons.push(match self.after.backing {
                Backing::Layered => Stayed::Layered,
                _ if known.dirty_pages.is_none() => Stayed::UnwrittenOrInUse,
                _ => Stayed::InUse { unreadable_processes },
            });
        }
        reasons
    }
}

/// Evicts the file at `path`; a symbolic link is followed.
///
/// # Errors
/// As [`crate::residency()`], and [`Error::Write`], [`Error::Evict`] when the kernel refuses. Pages that stay are no error.
pub fn evict(path: &Path, options: EvictOptions) -> Result<Evicted, Error> {
    CacheFile::open(path, true)?.evict(options)
}

impl<F: AsFd> CacheFile<F> {
    /// Evicts it.
    ///
    /// # Errors
    /// As [`evict`].
    pub fn evict(&self, options: EvictOptions) -> Result<Evicted, Error> {
        let before = self.residency(Detail::Counts)?;
        let nothing_to_do = before.resident_pages() == Some(0) || before.backing == Backing::Memory;
        if nothing_to_do {
            return Ok(Evicted { after: before.clone(), before, is_mounted: false });
        }
        // Where dirty pages are unknown, writing when there are none costs little.
        let may_be_dirty =
            before.known().is_none_or(|known| known.dirty_pages != Some(0) || known.writeback_pages != Some(0));
        if options.write_first && may_be_dirty {
            fdatasync(&self.file).map_err(|errno| Error::Write { path: self.path.clone(), source: errno.into() })?;
        }
        self.drop_pages()?;
        let mut after = self.residency(Detail::Counts)?;
        if after.resident_pages() != Some(0) {
            // Pages that were under I/O or in a CPU's batch a moment ago may go now.
            self.drop_pages()?;
            after = self.residency(Detail::Counts)?;
        }
        Ok(Evicted { before, after, is_mounted: self.is_block_device && is_mounted(self.stat.st_rdev) })
    }

    fn drop_pages(&self) -> Result<(), Error> {
        // From 0 without end: the kernel spares the partial last page of a range that ends inside the file.
        fadvise(&self.file, 0, None, Advice::DontNeed)
            .map_err(|errno| Error::Evict { path: self.path.clone(), source: errno.into() })
    }
}

/// Whether a file system is mounted from the device, as far as this mount namespace shows.
fn is_mounted(device: u64) -> bool {
    let device = DeviceNumber::of_stat(device);
    Mounts::here().is_ok_and(|mounts| mounts.all().iter().any(|mount| mount.device == device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residency::{KnownPages, Method};

    fn evicted(backing: Backing, resident: u64, dirty: u64) -> Evicted {
        let known = KnownPages {
            resident_pages: resident,
            dirty_pages: Some(dirty),
            writeback_pages: Some(0),
            ranges: None,
            method: Method::Cachestat,
        };
        let after =
            Residency { size: 40960, file_pages: 10, backing, is_block_device: false, cached: Cached::Known(known) };
        Evicted { before: after.clone(), after, is_mounted: false }
    }

    fn holder() -> Holder {
        Holder { pid: 7, name: "a".to_owned(), bytes: 4096, locked: false }
    }

    #[test]
    fn every_page_that_stayed_has_a_reason() {
        let storage = |resident, dirty| evicted(Backing::Storage, resident, dirty);
        assert_eq!(storage(0, 0).reasons(&[holder()], 3), []);
        assert_eq!(storage(4, 4).reasons(&[], 3), [Stayed::Unwritten(4)]);
        assert_eq!(storage(4, 3).reasons(&[], 3), [Stayed::Unwritten(3), Stayed::InUse { unreadable_processes: 3 }]);
        assert_eq!(storage(4, 3).reasons(&[holder()], 3), [Stayed::Unwritten(3), Stayed::Held(vec![holder()])]);
        assert_eq!(evicted(Backing::Memory, 4, 4).reasons(&[holder()], 0), [Stayed::InMemory]);
        assert_eq!(evicted(Backing::Layered, 4, 0).reasons(&[], 0), [Stayed::Layered]);
        let mut older = storage(4, 0);
        if let Cached::Known(known) = &mut older.after.cached {
            (known.dirty_pages, known.writeback_pages, known.method) = (None, None, Method::Mincore);
        }
        assert_eq!(older.reasons(&[], 3), [Stayed::UnwrittenOrInUse]);
        assert_eq!(older.reasons(&[holder()], 3), [Stayed::Held(vec![holder()])]);
        let mut hidden = storage(4, 0);
        hidden.after.cached = Cached::Unknown(Unknown::NotPermitted);
        assert_eq!(hidden.reasons(&[holder()], 0), [Stayed::NotTold(Unknown::NotPermitted)]);
        assert!(!hidden.is_gone());
    }
}
