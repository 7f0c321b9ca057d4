//! Querying a file's residency.
//!
//! The method depends on the case: `cachestat` counts (and knows about dirty pages), `mincore` lists.
//! On stacked file systems only `mincore` sees the pages, on block devices only `cachestat` does, and other users'
//! files can be queried by neither.

use std::os::fd::AsFd;

use coldstart_profile::{PAGE_SIZE, PageRange, page_count};
use coldstart_sys::cachestat::{CacheStat, cachestat};
use coldstart_sys::facility_error::FacilityError;
use coldstart_sys::fiemap::{Extent, ExtentFlags, fiemap};
use coldstart_sys::mincore::mincore;

use crate::cache_file::CacheFile;
use crate::error::Error;
use crate::file_system::{Backing, is_hugetlbfs};
use crate::permission::may_see_pages;
use crate::residency::{Cached, Detail, KnownPages, Method, Residency, Unknown};
use crate::survey::{Pages, Run, resident_runs};

/// Larger files are not listed by `mincore` alone: 16 TiB take about a minute.
const MOST_LISTED_BYTES: u64 = 16 << 40;

/// Where only `mincore` works, parts of this size that are a hole count as not resident and are not listed: each would
/// take 60 ms and more. Smaller ones are listed, because whoever reads a hole puts its zeros in the page cache.
const LEAST_HOLE_BYTES: u64 = 16 << 30;

/// Which facilities are reliable for a file.
struct Ways {
    /// The counts of the whole file, where `cachestat` sees its pages.
    counts: Option<CacheStat>,
    may_list: bool,
}

impl<F: AsFd> CacheFile<F> {
    /// Its current residency.
    ///
    /// # Errors
    /// [`Error::Ask`] when the kernel fails. Hidden residency is not an error.
    pub fn residency(&self, detail: Detail) -> Result<Residency, Error> {
        let failed = |source| Error::Ask { path: self.path.clone(), source };
        let cached = if self.size == 0 {
            let nothing = (detail == Detail::Ranges).then(Vec::new);
            Cached::Known(known(0, Some(CacheStat::default()), nothing, Method::Empty))
        } else {
            match self.ways().map_err(failed)? {
                Ok(ways) => match self.ask(&ways, detail) {
                    Ok(known) => Cached::Known(known),
                    // A layered file that cannot be mapped.
                    Err(FacilityError::Unsupported { .. }) => Cached::Unknown(Unknown::Unsupported),
                    Err(failure) => return Err(failed(failure)),
                },
                Err(unknown) => Cached::Unknown(unknown),
            }
        };
        Ok(Residency {
            size: self.size,
            file_pages: page_count(self.size),
            backing: self.backing,
            is_block_device: self.is_block_device,
            cached,
        })
    }

    /// Determines the reliable facilities, by calling the cheaper one for the whole file.
    fn ways(&self) -> Result<Result<Ways, Unknown>, FacilityError> {
        let counts = match cachestat(&self.file, 0, self.size) {
            // The pages of a stacked file are those of the lower file, which `cachestat` does not see: it returns 0.
            Ok(_) if self.backing == Backing::Layered => None,
            Ok(counts) => Some(counts),
            // `mincore` follows the same rule, but gives a wrong answer instead of an error.
            Err(FacilityError::NotPermitted { .. }) => return Ok(Err(Unknown::NotPermitted)),
            Err(FacilityError::Unsupported { .. }) => None,
            Err(failed) => return Err(failed),
        };
        let may_list = !self.is_block_device && may_see_pages(&self.file, &self.stat);
        Ok(match counts {
            Some(_) => Ok(Ways { counts, may_list }),
            None if self.is_block_device || is_hugetlbfs(&self.file) => Err(Unknown::Unsupported),
            None if !may_list => Err(Unknown::NotPermitted),
            None if self.size > MOST_LISTED_BYTES => Err(Unknown::TooLarge),
            None => Ok(Ways { counts, may_list }),
        })
    }

    fn ask(&self, ways: &Ways, detail: Detail) -> Result<KnownPages, FacilityError> {
        let base = rustix::param::page_size() as u64;
        if let (Some(counts), Detail::Counts) = (ways.counts, detail) {
            let resident = self.resident_pages(&counts, base)?;
            return Ok(known(resident, Some(counts), None, Method::Cachestat));
        }
        let mut pages = AskKernel {
            file: &self.file,
            base,
            size: self.size,
            may_count: ways.counts.is_some(),
            may_list: ways.may_list,
            listed: ways.counts.is_none(),
            extents: if ways.counts.is_none() && self.size >= LEAST_HOLE_BYTES { extents(&self.file) } else { None },
        };
        let runs = match resident_runs(&mut pages, self.size.div_ceil(base)) {
            Ok(runs) => runs,
            // It cannot be mapped (files of /sys, some FUSE servers), which `mincore` requires.
            Err(FacilityError::Unsupported { .. }) if ways.counts.is_some() => {
                pages.may_list = false;
                resident_runs(&mut pages, self.size.div_ceil(base))?
            }
            Err(failed) => return Err(failed),
        };
        let ranges = to_page_ranges(&runs, base, page_count(self.size));
        let resident = ranges.iter().map(|range| range.count).sum();
        let method = if pages.listed { Method::Mincore } else { Method::Cachestat };
        Ok(known(resident, ways.counts, (detail == Detail::Ranges).then_some(ranges), method))
    }

    /// The number of resident pages of [`PAGE_SIZE`], of which the last base page may hold fewer that are the file's.
    fn resident_pages(&self, counts: &CacheStat, base: u64) -> Result<u64, FacilityError> {
        let surplus = self.size.div_ceil(base) * (base / PAGE_SIZE) - page_count(self.size);
        let last = (self.size - 1) / base * base;
        let last_is_resident = surplus > 0 && cachestat(&self.file, last, self.size - last)?.cached > 0;
        let resident = counts.cached.saturating_mul(base / PAGE_SIZE);
        Ok(resident.saturating_sub(if last_is_resident { surplus } else { 0 }).min(page_count(self.size)))
    }
}

fn known(resident: u64, counts: Option<CacheStat>, ranges: Option<Vec<PageRange>>, method: Method) -> KnownPages {
    let ratio = (rustix::param::page_size() as u64 / PAGE_SIZE).max(1);
    KnownPages {
        resident_pages: resident,
        dirty_pages: counts.map(|counts| counts.dirty * ratio),
        writeback_pages: counts.map(|counts| counts.writeback * ratio),
        ranges,
        method,
    }
}

/// From runs of base pages to ranges of [`PAGE_SIZE`], cut at the end of the file.
fn to_page_ranges(runs: &[Run], base: u64, file_pages: u64) -> Vec<PageRange> {
    let ratio = (base / PAGE_SIZE).max(1);
    let range = |&(start, count): &Run| {
        let (start, end) = (start * ratio, ((start + count) * ratio).min(file_pages));
        PageRange::new(start, end.saturating_sub(start))
    };
    runs.iter().filter_map(range).collect()
}

/// The kernel's two facilities, as [`resident_runs`] wants them.
struct AskKernel<'a, F> {
    file: &'a F,
    base: u64,
    size: u64,
    may_count: bool,
    may_list: bool,
    /// Whether `mincore` has answered: then its notion of "resident" holds for part of the ranges.
    listed: bool,
    /// What of the file is not a hole, in order; `None` if unknown or of no use.
    extents: Option<Vec<Extent>>,
}

/// All extents of a file, those that are not written yet included.
fn extents(file: impl AsFd) -> Option<Vec<Extent>> {
    let extents = fiemap(file).ok()?;
    let are_all = extents.last().is_none_or(|last| last.flags.has(ExtentFlags::LAST));
    are_all.then_some(extents)
}

/// Whether none of the extents reaches into bytes `start .. end`.
fn is_hole(extents: &[Extent], start: u64, end: u64) -> bool {
    let behind = extents.partition_point(|extent| extent.file_offset.saturating_add(extent.length) <= start);
    extents.get(behind).is_none_or(|extent| extent.file_offset >= end)
}

impl<F: AsFd> Pages for AskKernel<'_, F> {
    type Error = FacilityError;

    fn count(&mut self, start: u64, count: u64) -> Result<Option<u64>, FacilityError> {
        let offset = start * self.base;
        if !self.may_count {
            let is_large = count * self.base >= LEAST_HOLE_BYTES;
            let hole = |extents: &Vec<Extent>| is_large && is_hole(extents, offset, offset + count * self.base);
            return Ok(self.extents.as_ref().is_some_and(hole).then_some(0));
        }
        let length = (count * self.base).min(self.size.saturating_sub(offset));
        Ok(Some(cachestat(self.file, offset, length)?.cached))
    }

    fn list(&mut self, start: u64, count: u64) -> Result<Option<Vec<bool>>, FacilityError> {
        if !self.may_list {
            return Ok(None);
        }
        let length = usize::try_from(count * self.base).unwrap_or(usize::MAX);
        let list = mincore(self.file, start * self.base, length)?;
        self.listed = true;
        Ok(Some(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_where_no_extent_reaches() {
        let extent = |file_offset, length| Extent { file_offset, physical: 0, length, flags: ExtentFlags(0) };
        let extents = [extent(10, 10), extent(30, 5)];
        for (start, end, expected) in [
            (0, 10, true),
            (0, 11, false),
            (19, 30, false),
            (20, 30, true),
            (20, 31, false),
            (34, 99, false),
            (35, 99, true),
        ] {
            assert_eq!(is_hole(&extents, start, end), expected, "{start} .. {end}");
        }
        assert!(is_hole(&[], 0, 1));
    }

    #[test]
    fn larger_base_pages_become_pages_of_4_kib_cut_at_the_end() {
        let ranges = |runs: &[Run], pages| {
            to_page_ranges(runs, 65536, pages).iter().map(|range| (range.start.0, range.count)).collect::<Vec<_>>()
        };
        assert_eq!(ranges(&[(0, 1), (2, 1)], 35), [(0, 16), (32, 3)]);
        assert_eq!(ranges(&[(0, 1)], 2), [(0, 2)]);
        assert_eq!(ranges(&[(3, 1)], 20), []);
    }
}
