//! From a trace to two working sets: the pages that a start left in the page cache, and those that it really used.
//!
//! The kernel reads around each requested page, 128 KiB by default, so a recording of the page cache contains
//! unneeded pages. A trace knows both. Not obvious: the exact set is not always
//! better for a plan. A file with uses that leave no touch keeps its cached pages here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use coldstart_analyse::kernel_number;
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, FillCause, LookupKind, PagesSeen, Trace, TracedFile,
};
use coldstart_profile::{
    FileIdentity, FileKind, FileUse, NameKind, NameUse, PageRange, PageSource, Touched, WorkingSet, merge_ranges,
    page_count,
};

use coldstart_sys::private_mounts::{PrivateMounts, outside};

use crate::files::{FileCollector, Span};
use crate::names::SeenFile;
use crate::{PageFill, RecordingNotes, SeenName, SeenRequest};

/// How long ago a trace was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAge {
    /// Just now; the wall clock right before the launch.
    Fresh(SystemTime),
    /// Some time ago: files that have changed since are left out, and the current page cache is irrelevant.
    Kept,
}

/// The reads of one start, in two views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedWorkingSets {
    /// Pages that entered the page cache, and cached pages that were used.
    pub cached: WorkingSet,
    /// Pages that the program used; or a clause with the reason why that is unknown.
    pub exact: Result<ExactWorkingSet, String>,
    /// What was not recorded or left out. Lost events are not counted here: some may be touches and reads as well.
    pub notes: RecordingNotes,
    /// Files left out because they have changed since the trace was recorded.
    pub changed_files: Vec<PathBuf>,
}

/// The pages used by a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactWorkingSet {
    /// Its pages and names.
    pub working_set: WorkingSet,
    /// Files whose cached pages substitute for used ones, because their uses left no touch (reads without root, `io_uring`).
    pub cached_files: u64,
    /// Some processes' touches stand for up to 16 pages each (fault-around), of which the cached ones are used.
    pub by_fault_around: bool,
}

/// The kernel maps at most this many pages around a fault (`fault_around_bytes` in `mm/memory.c`: 64 KiB), aligned.
const FAULT_AROUND_PAGES: u64 = 16;
/// Trees with files in the kernel's memory only.
const MEMORY_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Prefix of a trace's note on missing touches (`start::assemble`), followed by the reason.
const NO_TOUCHES: &str = "Page touches and mappings are not recorded: ";

/// The working sets of a traced start that recorded pages and files.
pub fn traced_working_sets(trace: &Trace, age: TraceAge) -> TracedWorkingSets {
    working_sets_inside(trace, age, None)
}

/// As [`traced_working_sets`], of a start in a private view: its files are the replacements, under the originals' names.
pub fn working_sets_inside(trace: &Trace, age: TraceAge, mounts: Option<&PrivateMounts>) -> TracedWorkingSets {
    let mut notes = RecordingNotes::default();
    let facts = Facts::of(trace);
    let mut changed_files = Vec::new();
    let found = find_files(trace, age, mounts, &mut changed_files);

    let started = match age {
        TraceAge::Fresh(started) => started,
        // The trace knows whole seconds: the next one, so that nothing made before the launch counts as made by the start.
        TraceAge::Kept => {
            let seconds = u64::try_from(trace.run.started).unwrap_or(0).saturating_add(1);
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or_else(SystemTime::now)
        }
    };
    let ready = trace.run.ready_at.unwrap_or(trace.run.ended_at).since_launch();
    let span = Span { started, from: Duration::ZERO, to: ready };
    let mut collector = FileCollector::new(span, Some(uses(trace, &found)), &mut notes).inside(mounts);
    if facts.fills_are_known || age == TraceAge::Kept {
        collector = collector.without_resident();
    }
    collector.add_opened(&opened(&found, &facts));
    collector.add_metadata();
    let cached = WorkingSet {
        command: trace.run.command.clone(),
        files: collector.finish(),
        names: name_uses(trace),
        source: if facts.fills_are_known { PageSource::PageCacheFills } else { PageSource::Residency },
        duration: ready,
    };
    // What nobody could name is already told by the trace's own notes.
    notes.unnamed_pages = 0;
    let exact = exact(trace, &facts, &found, &cached);
    TracedWorkingSets { cached, exact, notes, changed_files }
}

/// Event totals of a trace.
struct Facts {
    /// Some program always reads something (the loader reads each library's header), so none at all means not recorded.
    reads_are_known: bool,
    fills_are_known: bool,
    /// First use of each file.
    first_uses: BTreeMap<FileId, Duration>,
}

impl Facts {
    fn of(trace: &Trace) -> Self {
        let mut facts = Self { reads_are_known: false, fills_are_known: false, first_uses: BTreeMap::new() };
        for event in &trace.events {
            facts.reads_are_known |= event.kind == EventKind::Read;
            facts.fills_are_known |= matches!(event.kind, EventKind::Fill(_));
            let is_use = is_use(event) || matches!(event.kind, EventKind::Fill(_));
            if let Some(file) = event.file.filter(|_| is_use) {
                facts.first_uses.entry(file).or_insert(event.at.since_launch());
            }
        }
        for lookup in trace.lookups.iter().filter(|lookup| lookup.kind == LookupKind::Open) {
            if let Some(file) = lookup.file {
                let at = lookup.at.since_launch();
                facts.first_uses.entry(file).and_modify(|first| *first = at.min(*first)).or_insert(at);
            }
        }
        facts
    }
}

/// A page of a file used by the program itself.
pub(crate) fn is_use(event: &Event) -> bool {
    match event.kind {
        EventKind::Touch(touch) => !touch.zero_filled,
        EventKind::Read => true,
        EventKind::Function | EventKind::Fill(_) => false,
    }
}

/// A file of the trace that still exists.
struct Found {
    path: PathBuf,
    /// Of a block device its own number.
    device: u64,
    inode: u64,
    size: u64,
    is_regular: bool,
}

fn find_files(
    trace: &Trace,
    age: TraceAge,
    mounts: Option<&PrivateMounts>,
    changed: &mut Vec<PathBuf>,
) -> HashMap<FileId, Found> {
    // In another root (a chroot) a file's path of the time is not ours, but the names that led to it are told as we see them.
    let mut names: HashMap<FileId, Vec<&PathBuf>> = HashMap::new();
    for lookup in &trace.lookups {
        if let Some(file) = lookup.file {
            names.entry(file).or_default().push(&lookup.path);
        }
    }
    let mut found = HashMap::new();
    for (file, number) in trace.files.iter().zip(0u32..) {
        let id = FileId(number);
        if file.category == FileCategory::Memory {
            continue;
        }
        let candidates = std::iter::once(&file.path).chain(names.get(&id).into_iter().flatten().copied());
        let Some((path, metadata)) = look_up(file, candidates, mounts) else { continue };
        let size = i64::try_from(metadata.size()).unwrap_or(i64::MAX);
        let identity = FileIdentity::from_stat(size, metadata.mtime(), metadata.mtime_nsec());
        // Of a file that was found under another root's path there is no identity in the trace.
        if age == TraceAge::Kept && file.identity.is_some_and(|then| then != identity) {
            changed.push(path);
            continue;
        }
        let is_regular = metadata.is_file();
        found.insert(
            id,
            Found { path, device: metadata.dev(), inode: metadata.ino(), size: metadata.size(), is_regular },
        );
    }
    found
}

/// The first of the paths that leads to the file. btrfs and overlayfs tell other device numbers to the one who asks than to the
/// recorder, so where no device fits the inode alone has to do.
fn look_up<'a>(
    file: &TracedFile,
    paths: impl Iterator<Item = &'a PathBuf>,
    mounts: Option<&PrivateMounts>,
) -> Option<(PathBuf, Metadata)> {
    let mut by_inode = None;
    for path in paths {
        let Ok(path) = std::fs::canonicalize(path) else { continue };
        let Ok(metadata) = std::fs::metadata(outside(mounts, &path)) else { continue };
        if metadata.ino() != file.inode {
            continue;
        }
        if kernel_number(metadata.dev()) == file.device {
            return Some((path, metadata));
        }
        by_inode = by_inode.or(Some((path, metadata)));
    }
    by_inode
}

/// All that brought or used pages, as fills under the numbers that the files have now.
fn uses(trace: &Trace, found: &HashMap<FileId, Found>) -> Vec<PageFill> {
    let fill = |event: &Event| {
        if !is_use(event) && !matches!(event.kind, EventKind::Fill(_)) {
            return None;
        }
        let id = event.file?;
        let (device, inode) = match found.get(&id) {
            // The tracer reads its files, too; pages that the program then used have uses of their own.
            Some(_) if event.kind == EventKind::Fill(FillCause::Other) => return None,
            Some(file) => (kernel_number(file.device), file.inode),
            None => {
                // A block device's own pages keep the kernel's numbers.
                let file = trace.file(id).filter(|file| file.category == FileCategory::Metadata)?;
                (file.device, file.inode)
            }
        };
        let (at, pages) = (event.at.since_launch(), u64::from(event.pages));
        Some(PageFill { device, inode, page: event.page, pages, at, thread: 0 })
    };
    trace.events.iter().filter_map(fill).collect()
}

/// The files as if each had been opened when it was first used.
fn opened(found: &HashMap<FileId, Found>, facts: &Facts) -> Vec<SeenName> {
    let name = |(id, at): (&FileId, &Duration)| {
        let file = found.get(id).filter(|file| file.is_regular)?;
        Some(SeenName {
            path: file.path.clone(),
            request: SeenRequest::Content,
            file: Some(SeenFile {
                real_path: file.path.clone(),
                is_regular: true,
                is_directory: false,
                identity: FileIdentity { size: file.size, modified: 0 },
                device: file.device,
                inode: file.inode,
            }),
            failed: false,
            thread: 0,
            process: None,
            at: *at,
        })
    };
    facts.first_uses.iter().filter_map(name).collect()
}

/// A name that was both looked up and listed counts as listed.
fn name_uses(trace: &Trace) -> Vec<NameUse> {
    let ready = trace.run.ready_at.unwrap_or(trace.run.ended_at);
    let listed: HashSet<_> =
        trace.lookups.iter().filter(|lookup| lookup.kind == LookupKind::List).map(|lookup| &lookup.path).collect();
    let mut known = HashSet::new();
    trace
        .lookups
        .iter()
        .filter(|lookup| lookup.at <= ready && !MEMORY_TREES.iter().any(|tree| lookup.path.starts_with(tree)))
        .filter(|lookup| known.insert(&lookup.path))
        .map(|lookup| NameUse {
            path: lookup.path.clone(),
            kind: match lookup.failed {
                true => NameKind::Missing,
                false if listed.contains(&lookup.path) => NameKind::Listed,
                false => NameKind::Found,
            },
            at: lookup.at.since_launch(),
        })
        .collect()
}

fn exact(
    trace: &Trace,
    facts: &Facts,
    found: &HashMap<FileId, Found>,
    cached: &WorkingSet,
) -> Result<ExactWorkingSet, String> {
    if trace.run.pages == PagesSeen::None {
        // Notes on other things stand before it and behind it.
        let reason = trace.run.notes.iter().find_map(|note| note.strip_prefix(NO_TOUCHES));
        return Err(reason.unwrap_or("the trace has no touches of pages").trim_end_matches('.').to_owned());
    }
    let mut touches = touches_by_path(trace, found, cached);
    let mut cached_files = 0u64;
    let mut files = Vec::with_capacity(cached.files.len());
    for file in &cached.files {
        if file.kind == FileKind::BlockDevice {
            files.push(file.clone());
            continue;
        }
        match touches.by_path.remove(file.path.as_path()) {
            Some(mut pages) => {
                if !facts.reads_are_known {
                    // Whoever maps a file has usually read its header.
                    let header = file.touched.iter().filter(|touched| touched.range.start.0 == 0);
                    pages.extend(header.map(|touched| (0, 1, touched.at)));
                }
                let touched = in_order(pages, page_count(file.identity.size));
                if !touched.is_empty() {
                    files.push(FileUse { touched, ..file.clone() });
                }
            }
            None => {
                cached_files = cached_files.saturating_add(1);
                files.push(file.clone());
            }
        }
    }
    files.sort_by_key(|file| file.touched.iter().map(|touched| touched.at).min());
    let working_set = WorkingSet { files, source: PageSource::Touched, ..cached.clone() };
    Ok(ExactWorkingSet { working_set, cached_files, by_fault_around: touches.by_fault_around })
}

/// First page, number of pages, first use.
type Pages = Vec<(u64, u64, Duration)>;

struct Touches<'a> {
    by_path: HashMap<&'a Path, Pages>,
    by_fault_around: bool,
}

fn touches_by_path<'a>(trace: &Trace, found: &'a HashMap<FileId, Found>, cached: &WorkingSet) -> Touches<'a> {
    let ready = trace.run.ready_at.unwrap_or(trace.run.ended_at);
    let cached: HashMap<&PathBuf, &FileUse> = cached.files.iter().map(|file| (&file.path, file)).collect();
    let mut merged: HashMap<&PathBuf, Vec<PageRange>> = HashMap::new();
    let mut touches = Touches { by_path: HashMap::new(), by_fault_around: false };
    for event in trace.events.iter().filter(|event| is_use(event) && event.at <= ready) {
        let Some(file) = event.file.and_then(|id| found.get(&id)) else { continue };
        let at = event.at.since_launch();
        let pages = touches.by_path.entry(&file.path).or_default();
        pages.push((event.page, u64::from(event.pages), at));
        let seen = trace.process_of(event).and_then(|process| trace.process(process)).map(|process| process.pages);
        if event.kind != EventKind::Read && seen != Some(PagesSeen::Each) {
            touches.by_fault_around = true;
            // Only pages that were cached are mapped around a fault.
            let Some(window) = fault_around_window(event.page) else { continue };
            let known = merged.entry(&file.path).or_insert_with(|| {
                let touched = cached.get(&file.path).map(|file| file.touched.as_slice()).unwrap_or_default();
                merge_ranges(touched.iter().map(|touched| touched.range).collect(), 0)
            });
            let first = known.partition_point(|known| known.end().0 <= window.start.0);
            let parts = known.iter().skip(first).map_while(|known| common(*known, window));
            pages.extend(parts.map(|part| (part.start.0, part.count, at)));
        }
    }
    touches
}

/// The pages that the kernel may map with this one.
pub(crate) fn fault_around_window(page: u64) -> Option<PageRange> {
    PageRange::new(page - page % FAULT_AROUND_PAGES, FAULT_AROUND_PAGES)
}

pub(crate) fn common(a: PageRange, b: PageRange) -> Option<PageRange> {
    let start = a.start.0.max(b.start.0);
    PageRange::new(start, a.end().0.min(b.end().0).saturating_sub(start))
}

/// Pages as runs in order of first use; a page that continues the run before it belongs to it.
fn in_order(mut pages: Pages, limit: u64) -> Vec<Touched> {
    pages.sort_by_key(|&(_, _, at)| at);
    let mut seen = HashSet::new();
    let mut touched: Vec<Touched> = Vec::new();
    for (first, count, at) in pages {
        for page in first..first.saturating_add(count).min(limit) {
            if !seen.insert(page) {
                continue;
            }
            match touched.last_mut() {
                Some(last) if last.range.end().0 == page => last.range.count = last.range.count.saturating_add(1),
                _ => touched.extend(PageRange::new(page, 1).map(|range| Touched { range, at })),
            }
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_missing_touches_is_not_that_of_something_else() {
        let mut trace = Trace::default();
        trace.run.notes.push("What came from the disk is not recorded: tracefs: it needs root.".to_owned());
        let reason = |trace: &Trace| traced_working_sets(trace, TraceAge::Kept).exact;
        assert_eq!(reason(&trace), Err("the trace has no touches of pages".to_owned()));
        trace.run.notes.push("Page touches and mappings are not recorded: this kernel cannot.".to_owned());
        assert_eq!(reason(&trace), Err("this kernel cannot".to_owned()));
    }
}
