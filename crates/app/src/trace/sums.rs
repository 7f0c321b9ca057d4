//! Sums over the processes of a trace.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use coldstart_profile::trace::figures::{Activity, FileFigures, Seeks, StagedSeeks};
use coldstart_profile::trace::{FileId, Phase, PhaseId};

use super::TraceView;

/// The initialisers of an object, in all processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct InitialiserSum {
    /// Processes that ran them.
    pub processes: u64,
    /// How many ran.
    pub calls: u64,
    /// Jumps between consecutive initialisers of a process.
    pub seeks: Seeks,
    /// Nanoseconds.
    pub time: u64,
}

/// The loader's time for an object in all processes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoaderTime {
    /// For its relocations.
    pub relocation: u64,
    /// For its initialisers.
    pub initialisers: u64,
}

/// Failed lookups in a directory.
#[derive(Clone, Copy, Debug)]
pub struct MissingNames<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// Lookups that failed.
    pub count: u64,
    /// The first.
    pub first: &'a Path,
}

/// One call of an initialiser.
#[derive(Clone, Copy, Debug)]
pub struct LongInitialiser<'a> {
    /// Its phase.
    pub phase: &'a Phase,
    /// Own time in nanoseconds.
    pub own: u64,
    /// Its object.
    pub file: FileId,
    /// Its address in the object.
    pub address: u64,
}

impl<'a> TraceView<'a> {
    /// Objects with initialisers that ran, slowest first.
    pub fn initialiser_sums(&self) -> Vec<(FileId, InitialiserSum)> {
        let mut objects: BTreeMap<FileId, InitialiserSum> = BTreeMap::new();
        for order in self.figures.initialisers.iter().filter(|order| self.wants(order.file)) {
            let object = objects.entry(order.file).or_default();
            object.processes += 1;
            object.calls = object.calls.saturating_add(order.phases.len() as u64);
            object.seeks += order.seeks;
            object.time = object.time.saturating_add(order.time);
        }
        let mut objects: Vec<(FileId, InitialiserSum)> = objects.into_iter().collect();
        objects.sort_by_key(|(_, object)| Reverse(object.time));
        objects
    }

    /// Objects that match the filter, ordered by the loader's time, then by touched pages, largest first.
    pub fn object_sums(&self) -> Vec<(&'a FileFigures, LoaderTime)> {
        let mut times: BTreeMap<FileId, LoaderTime> = BTreeMap::new();
        for time in &self.figures.times.objects {
            let sum = times.entry(time.file).or_default();
            sum.relocation = sum.relocation.saturating_add(time.relocation);
            sum.initialisers = sum.initialisers.saturating_add(time.initialisers);
        }
        let time_of = |file: &FileFigures| times.get(&file.file).copied().unwrap_or_default();
        let objects = self.files().into_iter().filter(|file| self.trace.object(file.file).is_some());
        let mut objects: Vec<(&FileFigures, LoaderTime)> = objects.map(|file| (file, time_of(file))).collect();
        objects.sort_by_key(|(file, time)| {
            Reverse((time.relocation.saturating_add(time.initialisers), file.pages.touched))
        });
        objects
    }

    /// Files that match the filter and were used or read from disk, most pages first.
    pub fn files_in_use(&self) -> Vec<&'a FileFigures> {
        let mut files = self.files();
        files.retain(|file| file.pages.used > 0 || file.pages.filled > 0);
        files.sort_by_key(|file| Reverse((file.pages.filled.max(file.pages.used), file.pages.used)));
        files
    }

    /// Files that match the filter and have touched sections, most touched pages first.
    pub fn files_with_touched_sections(&self) -> Vec<&'a FileFigures> {
        let mut files = self.files();
        files.retain(|file| file.sections.iter().any(|section| section.touched > 0));
        files.sort_by_key(|file| Reverse(file.pages.touched.saturating_add(file.pages.zero_filled)));
        files
    }

    /// Files that match the filter and have jumps of a kind, largest sum of distances first.
    pub fn files_with_jumps(&self, seeks: fn(&Activity) -> &StagedSeeks) -> Vec<&'a FileFigures> {
        let mut files = self.files();
        files.retain(|file| seeks(&file.activity).all.steps > 0);
        files.sort_by_key(|file| Reverse(seeks(&file.activity).all.total()));
        files
    }

    /// Initialisers of objects that match the filter, slowest first.
    pub fn longest_initialisers(&self) -> Vec<LongInitialiser<'a>> {
        let long = |id: &PhaseId| {
            let phase = self.trace.phases.get(usize::try_from(id.0).ok()?)?;
            let (file, address) = (phase.file?, phase.address?);
            Some(LongInitialiser { phase, own: self.figures.times.own_of(*id), file, address })
        };
        let longest = self.figures.times.longest_initialisers.iter().filter_map(long);
        longest.filter(|initialiser| self.wants(initialiser.file)).take(self.limit).collect()
    }

    /// Directories with failed lookups, most failures first.
    pub fn missing_names(&self) -> Vec<MissingNames<'a>> {
        let mut directories: BTreeMap<&Path, (u64, &Path)> = BTreeMap::new();
        for lookup in self.trace.lookups.iter().filter(|lookup| lookup.failed) {
            let directory = lookup.path.parent().unwrap_or(&lookup.path);
            directories.entry(directory).or_insert((0, &lookup.path)).0 += 1;
        }
        let missing = |(directory, (count, first))| MissingNames { directory, count, first };
        let mut missing: Vec<MissingNames<'_>> = directories.into_iter().map(missing).collect();
        missing.sort_by_key(|missing| Reverse(missing.count));
        missing
    }
}
