//! The second reading of the plans: the pages of each, counted, and what remains as a working set.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_profile::plan::{PlanView, PlannedDevice, TargetKind};
use coldstart_profile::{
    DiskExtent, FileIdentity, FileKind, FileUse, NameKind, NameUse, PageRange, PageSource, Touched, WorkingSet,
};

use super::counted_pages::CountedPages;
use super::recording::{Recording, WHOLE_START, offset_of};
use super::survey::Agreed;
use super::{reaches, worthwhile_share};

/// Plans being joined. Add the same plans again, in any order, then [`Self::finish`].
#[derive(Debug)]
pub struct Join {
    agreed: Agreed,
    files: HashMap<PathBuf, CountedPages>,
    metadata: HashMap<PathBuf, CountedPages>,
    names: HashMap<(PathBuf, bool), CountedName>,
    /// Recordings of the disk of which offsets and metadata blocks are kept.
    of_disk: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct CountedName {
    count: u32,
    at: u64,
}

/// Several recordings as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What enough of the starts used.
    pub working_set: WorkingSet,
    /// The device to plan for: one that was measured by a recording.
    pub device: PlannedDevice,
    /// The median of the known hot starts.
    pub hot_start: Option<Duration>,
    /// When the latest recording was made, in seconds since 1970-01-01 UTC.
    pub recorded_at: i64,
    /// Number of recordings.
    pub recordings: u32,
    /// The share of starts that a page needed, in percent.
    pub share: u8,
    /// Bytes of pages that too few starts used.
    pub left_out_bytes: u64,
    /// Names that too few starts looked up.
    pub left_out_names: u64,
    /// Files of which recordings have several versions, by path.
    pub other_versions: Vec<OtherVersions>,
    /// Recordings of other disks: offsets and metadata blocks are not theirs.
    pub on_other_disks: u32,
    /// Number of kinds of devices among the recordings.
    pub device_kinds: usize,
    /// Number of programs among the recordings, by the names of their files.
    pub programs: usize,
}

/// A file of which there are several versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherVersions {
    /// Its path.
    pub path: PathBuf,
    /// The version in the plan.
    pub kept: FileIdentity,
    /// Recordings with another one.
    pub others: u32,
}

impl Join {
    pub(super) fn new(agreed: Agreed) -> Self {
        Self { agreed, files: HashMap::new(), metadata: HashMap::new(), names: HashMap::new(), of_disk: 0 }
    }

    /// Counts the pages and names of a plan.
    pub fn add(&mut self, plan: &PlanView<'_>) {
        let recorded_at = plan.summary().recorded_at;
        let recording = Recording::of(plan);
        let same_disk = self.agreed.disk.has(&recording);
        self.of_disk += u32::from(same_disk);
        for (path, file) in recording.files {
            let is_metadata = file.kind == TargetKind::BlockDevice;
            let counts = if is_metadata {
                same_disk
            } else {
                self.agreed.versions.get(path).is_some_and(|version| version.covers(file.kind))
            };
            if counts {
                let files = if is_metadata { &mut self.metadata } else { &mut self.files };
                entry(files, path).add(&file.pieces, recorded_at, same_disk);
            }
        }
        for ((path, is_directory), at) in recording.names {
            let name = self.names.entry((path.to_owned(), is_directory)).or_default();
            *name = CountedName { count: name.count + 1, at: name.at + at };
        }
    }

    /// The pages and names that at least `share` percent of the starts used; `None` for [`worthwhile_share`]. Of a
    /// file with several versions, only starts with the planned one count, and of metadata blocks, those of their disk.
    pub fn finish(self, share: Option<u8>) -> Merged {
        let Self { agreed, files, metadata, names, of_disk } = self;
        let share = share.unwrap_or_else(|| worthwhile_share(&agreed.device));
        let mut kept = Kept { share, start: agreed.recorded_start, left_out_bytes: 0, files: Vec::new() };
        for (path, pages) in files {
            let Some(version) = agreed.versions.get(&path) else { continue };
            let kind = if version.is_rewritten { FileKind::Rewritten } else { FileKind::Regular };
            kept.file(path, kind, version.identity, &pages, agreed.recordings.saturating_sub(version.others));
        }
        for (path, pages) in metadata {
            kept.file(path, FileKind::BlockDevice, FileIdentity { size: 0, modified: 0 }, &pages, of_disk);
        }
        let (names, left_out_names) = kept.names(names, agreed.recordings);
        let Kept { left_out_bytes, mut files, .. } = kept;
        files.sort_by(|a, b| (first_use(a), &a.path).cmp(&(first_use(b), &b.path)));
        let other_versions = agreed.versions.into_iter().filter(|(_, version)| version.others > 0);
        Merged {
            working_set: WorkingSet {
                command: agreed.command,
                files,
                names,
                // Overlapping reads of several recordings are to be joined as single pages are.
                source: PageSource::Touched,
                duration: agreed.recorded_start,
            },
            device: agreed.device,
            hot_start: agreed.hot_start,
            recorded_at: agreed.recorded_at,
            recordings: agreed.recordings,
            share,
            left_out_bytes,
            left_out_names,
            other_versions: other_versions
                .map(|(path, version)| OtherVersions { path, kept: version.identity, others: version.others })
                .collect(),
            on_other_disks: agreed.recordings - of_disk,
            device_kinds: agreed.device_kinds,
            programs: agreed.programs,
        }
    }
}

/// The parts of the working set as they are decided upon.
struct Kept {
    share: u8,
    start: Duration,
    left_out_bytes: u64,
    files: Vec<FileUse>,
}

impl Kept {
    fn file(&mut self, path: PathBuf, kind: FileKind, identity: FileIdentity, pages: &CountedPages, all: u32) {
        let mut file = FileUse { path, kind, identity, device: 0, touched: Vec::new(), extents: Vec::new() };
        for run in pages.runs() {
            let Some(range) = PageRange::new(run.start, run.end - run.start) else { continue };
            if !reaches(self.share, run.count, all) {
                self.left_out_bytes = self.left_out_bytes.saturating_add(range.length());
                continue;
            }
            file.touched.push(Touched { range, at: self.time(run.at()) });
            if let Some(origin) = run.origin().filter(|_| kind != FileKind::BlockDevice) {
                extend(&mut file.extents, range, offset_of(origin, run.start));
            }
        }
        file.touched.sort_by_key(|touched| (touched.at, touched.range));
        if !file.touched.is_empty() {
            self.files.push(file);
        }
    }

    /// Names in order of first use, and the number of those left out.
    fn names(&self, counted: HashMap<(PathBuf, bool), CountedName>, all: u32) -> (Vec<NameUse>, u64) {
        let counted_names = counted.len();
        let kept = counted.into_iter().filter(|(_, name)| reaches(self.share, name.count, all));
        let mut names: Vec<NameUse> = kept
            .map(|((path, is_directory), name)| NameUse {
                path,
                kind: if is_directory { NameKind::Listed } else { NameKind::Found },
                at: self.time(name.at / u64::from(name.count.max(1))),
            })
            .collect();
        names.sort_by(|a, b| {
            (a.at, &a.path, a.kind == NameKind::Listed).cmp(&(b.at, &b.path, b.kind == NameKind::Listed))
        });
        let left_out = (counted_names - names.len()) as u64;
        (names, left_out)
    }

    /// A place in the start as time since the launch.
    fn time(&self, at: u64) -> Duration {
        let nanoseconds = self.start.as_nanos() * u128::from(at) / u128::from(WHOLE_START);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Adds pages to the extents (ascending), to the last one if both are contiguous.
fn extend(extents: &mut Vec<DiskExtent>, range: PageRange, physical: u64) {
    let (file_offset, length) = (range.offset(), range.length());
    match extents.last_mut() {
        Some(last) if last.file_offset + last.length == file_offset && last.physical + last.length == physical => {
            last.length += length;
        }
        _ => extents.push(DiskExtent { file_offset, physical, length }),
    }
}

fn entry<'map>(files: &'map mut HashMap<PathBuf, CountedPages>, path: &Path) -> &'map mut CountedPages {
    files.entry(path.to_owned()).or_default()
}

fn first_use(file: &FileUse) -> Duration {
    file.touched.first().map(|touched| touched.at).unwrap_or_default()
}
