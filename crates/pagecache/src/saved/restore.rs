//! Restoring: drop the caches, read names and pages, check the result.
//!
//! Device pages come first, so that directories and inodes are found in them rather than read one by one, which would
//! also read their neighbours. The check at the end queries every recorded file: pages read a moment
//! ago can be evicted again where memory is short or unused pages are reclaimed proactively (DAMON), and pages mapped by
//! running programs have survived the drop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use coldstart_host::machine::Memory;
use coldstart_profile::PAGE_SIZE;
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};

use super::fetch::{self, Piece, fetch_device, open_saved};
use super::look::{Look, look, shared_pages};
use super::missing::{Missing, MissingReason};
use super::threads::{each, map};
use super::{SavedError, SavedFile, SavedPageCache, metadata};
use crate::block_device;
use crate::cache_file::CacheFile;
use crate::file_system::backing;
use crate::residency::{Cached, Detail};

/// How to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Drop all caches first, which takes root. Otherwise the saved pages are added to the current ones.
    pub drop: bool,
    /// Concurrent reads, 1 to 64.
    pub threads: usize,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        Self { drop: true, threads: 8 }
    }
}

/// The result of restoring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Whether the caches were dropped first.
    pub dropped: bool,
    /// Pages of regular files.
    pub files: PageTally,
    /// Pages of block devices: file systems' metadata.
    pub devices: PageTally,
    /// Directories read.
    pub directories: NameTally,
    /// Symbolic links read.
    pub links: NameTally,
    /// What was not restored, most pages first.
    pub missing: Vec<Missing>,
    /// Pages read twice, because they were evicted before the check.
    pub read_twice: u64,
    /// Bytes in the whole page cache before, without memory-backed files.
    pub cache_before: Option<u64>,
    /// The same, after the check.
    pub cache_after: Option<u64>,
    /// From the end of the drop to the last page.
    pub reading: Duration,
}

/// Pages, of 4096 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageTally {
    /// Files, or devices.
    pub count: u64,
    /// Requested (saved).
    pub asked: u64,
    /// Requested, and resident at the end.
    pub back: u64,
    /// Resident in the recorded files at the end, but not requested.
    pub extra: u64,
}

/// Names requested and restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameTally {
    /// Requested.
    pub asked: u64,
    /// Restored.
    pub back: u64,
}

impl Restored {
    /// Requested pages, of files and devices.
    pub fn asked(&self) -> u64 {
        self.files.asked.saturating_add(self.devices.asked)
    }

    /// Restored pages, of files and devices.
    pub fn back(&self) -> u64 {
        self.files.back.saturating_add(self.devices.back)
    }

    /// Bytes of the page cache outside the recorded files.
    pub fn elsewhere(&self) -> Option<u64> {
        let pages = self.back().saturating_add(self.files.extra).saturating_add(self.devices.extra);
        self.cache_after.map(|after| after.saturating_sub(pages.saturating_mul(PAGE_SIZE)))
    }

    /// Whether at least 99 % of the pages are restored and no saved file was removed or changed.
    pub fn is_close(&self) -> bool {
        let enough = u128::from(self.back()) * 100 >= u128::from(self.asked()) * 99;
        enough && !self.missing.iter().any(|missing| missing.reason.is_lost())
    }
}

/// Restores a saved state. It may be called again with the same state.
///
/// What was removed, has changed or cannot be read is skipped and reported.
///
/// # Errors
/// Before any change: [`SavedError::MayNotDrop`], [`SavedError::MoreThanMemory`]. [`SavedError::Drop`].
pub fn restore(saved: &SavedPageCache, options: &RestoreOptions) -> Result<Restored, SavedError> {
    if options.drop && !may_drop_caches() {
        return Err(SavedError::MayNotDrop);
    }
    let asked = saved.pages().saturating_mul(PAGE_SIZE);
    if let Some(memory) = Memory::here().total.filter(|memory| *memory < asked) {
        return Err(SavedError::MoreThanMemory { asked, memory });
    }
    let mut restored =
        Restored { dropped: options.drop, cache_before: Memory::here().page_cache, ..Restored::default() };
    if options.drop {
        // The second drop removes inodes whose pages the first one dropped, and what depended on them.
        for _ in 0..2 {
            drop_caches().map_err(|source| SavedError::Drop { source })?;
        }
    }
    let clock = Instant::now();
    let threads = options.threads;
    let failed_devices = failures(map(&saved.devices, threads, fetch_device));
    let mut names = Vec::new();
    restored.directories = metadata::read_directories(&saved.directories, threads, &mut names);
    restored.links = metadata::read_links(&saved.links, threads, &mut names);
    let mut bringing = Bringing::new(&saved.files, threads);
    bringing.fetch(|_| true);
    restored.reading = clock.elapsed();
    restored.read_twice = bringing.check();
    restored.files = tally(&saved.files, &bringing.states);
    let devices = map(&saved.devices, threads, state_of_device);
    restored.devices = tally(&saved.devices, &devices);
    restored.missing = missing(&saved.files, &bringing.states, &bringing.failed);
    restored.missing.extend(missing(&saved.devices, &devices, &failed_devices));
    restored.missing.extend(names);
    restored.missing.sort_by(|left, right| (right.pages, &left.path).cmp(&(left.pages, &right.path)));
    restored.cache_after = Memory::here().page_cache;
    Ok(restored)
}

/// The check's result for one file.
#[derive(Clone, Copy, Debug)]
struct State {
    back: u64,
    extra: u64,
    /// Why pages are missing, where known.
    reason: Option<MissingReason>,
}

impl State {
    fn lost(reason: MissingReason) -> Self {
        Self { back: 0, extra: 0, reason: Some(reason) }
    }

    fn of(file: &SavedFile, resident: &[coldstart_profile::PageRange]) -> Self {
        let back = shared_pages(&file.ranges, resident);
        let all = resident.iter().fold(0u64, |sum, range| sum.saturating_add(range.count));
        Self { back, extra: all.saturating_sub(back), reason: None }
    }
}

/// Regular files being restored.
struct Bringing<'a> {
    files: &'a [SavedFile],
    threads: usize,
    /// In read order.
    pieces: Vec<Piece<'a>>,
    failed: HashMap<usize, MissingReason>,
    states: Vec<State>,
}

impl<'a> Bringing<'a> {
    /// Opens every file to check its identity and find its pages' device offsets.
    fn new(files: &'a [SavedFile], threads: usize) -> Self {
        let numbered: Vec<(usize, &SavedFile)> = files.iter().enumerate().collect();
        let mut pieces = Vec::new();
        let mut failed = HashMap::new();
        let found = map(&numbered, threads, |&(number, file)| fetch::pieces(number, file));
        for (number, found) in found.into_iter().enumerate() {
            match found {
                Ok(found) => pieces.extend(found),
                Err(reason) => {
                    failed.insert(number, reason);
                }
            }
        }
        fetch::sort(&mut pieces, files);
        Self { files, threads, pieces, failed, states: Vec::new() }
    }

    /// Reads the pieces of those files that `wanted` chooses.
    fn fetch(&mut self, wanted: impl Fn(usize) -> bool) {
        let pieces: Vec<Piece<'a>> = self.pieces.iter().copied().filter(|piece| wanted(piece.file)).collect();
        let failed = Mutex::new(std::mem::take(&mut self.failed));
        each(&pieces, self.threads, |piece| {
            let Some(file) = self.files.get(piece.file) else { return };
            if let Err(reason) = fetch::fetch(piece, file) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).insert(piece.file, reason);
            }
        });
        self.failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    }

    /// Checks every file; evicted pages are read once more. Returns the number of the latter.
    fn check(&mut self) -> u64 {
        self.states = map(self.files, self.threads, state_of);
        let lacking = |number: usize| {
            let (Some(file), Some(state)) = (self.files.get(number), self.states.get(number)) else { return 0 };
            let can_come = state.reason.is_none() && !self.failed.contains_key(&number);
            if can_come { file.pages().saturating_sub(state.back) } else { 0 }
        };
        let again: HashMap<usize, u64> =
            (0..self.files.len()).map(|number| (number, lacking(number))).filter(|(_, pages)| *pages > 0).collect();
        if again.is_empty() {
            return 0;
        }
        self.fetch(|number| again.contains_key(&number));
        for number in again.keys() {
            if let (Some(file), Some(state)) = (self.files.get(*number), self.states.get_mut(*number)) {
                *state = state_of(file);
            }
        }
        again.values().sum()
    }
}

fn state_of(file: &SavedFile) -> State {
    let opened = match open_saved(file) {
        Ok(opened) => opened,
        Err(reason) => return State::lost(reason),
    };
    match look(&opened, file.identity.size, backing(&opened)) {
        Ok(Look::Resident(resident)) => State::of(file, &resident),
        Ok(Look::Hidden(unknown)) => State::lost(MissingReason::NotTold(unknown)),
        Err(_) => State::lost(MissingReason::NotTold(crate::residency::Unknown::Unsupported)),
    }
}

fn state_of_device(device: &SavedFile) -> State {
    let opened = match block_device::open(&device.path) {
        Ok(opened) => opened,
        Err(error) => return State::lost(MissingReason::of_error(&error)),
    };
    let residency = CacheFile::residency(&opened, Detail::Ranges).map(|residency| residency.cached);
    match residency {
        Ok(Cached::Known(known)) => State::of(device, &known.ranges.unwrap_or_default()),
        Ok(Cached::Unknown(unknown)) => State::lost(MissingReason::NotTold(unknown)),
        Err(_) => State::lost(MissingReason::NotTold(crate::residency::Unknown::Unsupported)),
    }
}

fn failures(results: Vec<Result<(), MissingReason>>) -> HashMap<usize, MissingReason> {
    results.into_iter().enumerate().filter_map(|(number, result)| Some((number, result.err()?))).collect()
}

fn tally(files: &[SavedFile], states: &[State]) -> PageTally {
    let mut tally = PageTally { count: files.len() as u64, ..PageTally::default() };
    for (file, state) in files.iter().zip(states) {
        tally.asked = tally.asked.saturating_add(file.pages());
        tally.back = tally.back.saturating_add(state.back);
        tally.extra = tally.extra.saturating_add(state.extra);
    }
    tally
}

fn missing(files: &[SavedFile], states: &[State], failed: &HashMap<usize, MissingReason>) -> Vec<Missing> {
    let mut missing = Vec::new();
    for (number, (file, state)) in files.iter().zip(states).enumerate() {
        let pages = file.pages().saturating_sub(state.back);
        if pages > 0 {
            let reason = failed.get(&number).copied().or(state.reason).unwrap_or(MissingReason::EvictedAgain);
            missing.push(Missing { path: file.path.clone(), pages, reason });
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_is_99_percent_and_nothing_lost() {
        let restored = |back, reason: Option<MissingReason>| Restored {
            files: PageTally { count: 1, asked: 1000, back, extra: 0 },
            missing: reason.map(|reason| Missing { path: "/a".into(), pages: 0, reason }).into_iter().collect(),
            ..Restored::default()
        };
        assert!(restored(990, Some(MissingReason::EvictedAgain)).is_close());
        assert!(!restored(989, None).is_close());
        assert!(!restored(1000, Some(MissingReason::Gone)).is_close());
        assert!(Restored::default().is_close(), "nothing asked, nothing missing");
    }
}
