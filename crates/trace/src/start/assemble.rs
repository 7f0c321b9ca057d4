//! Assembling the trace at the end: records and notes, descriptions of objects, names, reads and fills.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use coldstart_analyse::{self as analyse, Analysed, Note, NoteKind, OpenedObjects, Places, file_seen, is_still_there};
use coldstart_profile::trace::{
    Event, EventKind, Layer, Moment, PagesSeen, ProcessId, Run, ThreadId, Trace, TracedFile, TracedProcess,
    TracedThread,
};
use coldstart_sys::private_mounts::PrivateMounts;

use super::disk::{DiskLog, FileKey, KnownFiles, Setting, disk_pieces};
use super::session::FollowedStart;
use crate::NameLog;

/// All that was gathered.
pub(super) struct Parts<'a> {
    pub(super) start: FollowedStart,
    pub(super) names: Option<NameLog>,
    pub(super) disk: Option<DiskLog>,
    pub(super) places: &'a Places,
    /// The private view of the start.
    pub(super) mounts: Option<&'a PrivateMounts>,
    pub(super) run: Run,
    pub(super) layers: &'a BTreeSet<Layer>,
}

pub(super) fn assemble(parts: Parts<'_>) -> Trace {
    let Parts { mut start, names, disk, places, mounts, mut run, layers } = parts;
    if let Some(names) = &names {
        add_executions(&mut start, names);
        if let Some(refusal) = &names.refusal {
            run.notes.push(format!(
                "Names of files are not recorded, because the program's memory cannot be read: {refusal}."
            ));
        }
    }
    let seen = |path: &Path| file_seen(path, mounts);
    let joined = analyse::join(&start.recorded(), &seen);
    let opened = OpenedObjects::open(&joined, mounts, &mut |_, file| is_still_there(file, mounts));
    let objects = opened.describe();
    let Analysed { processes, threads, mut files, loads, mut phases, mut events } =
        analyse::finish(joined, &objects, &|file, address| opened.writes(file, address));
    analyse::identify(&mut files, &seen, &|path| places.category(path, false));
    if !layers.contains(&Layer::Pages) {
        events.clear();
    }
    if !layers.contains(&Layer::Phases) {
        phases.clear();
    }
    let mut lookups = Vec::new();
    if let (Some(names), Some(disk)) = (&names, &disk) {
        let known = known_files(&files, names);
        let living = Living::new(&processes, &threads);
        let setting = Setting {
            launched_at: Duration::from_nanos(start.launched_at),
            places,
            known: &known,
            thread: &|number, at| living.thread(number, at),
            process: &|number, at| living.process(number, at),
        };
        let until = start.moment(start.until);
        let pieces = disk_pieces(disk, names, &setting, files);
        files = pieces.files;
        events.extend(pieces.events.into_iter().filter(|event| event.at <= until));
        events.sort_by_key(|event| event.at);
        events.iter_mut().for_each(|event| end_with_file(event, &files));
        lookups = pieces.lookups;
        lookups.retain(|lookup| lookup.at <= until);
        run.notes.extend(disk.notes.iter().chain(&pieces.notes).cloned());
        run.lost_events = run.lost_events.saturating_add(disk.lost);
    }
    if let Some(reason) = &start.followed.no_records {
        run.notes.push(format!("Page touches and mappings are not recorded: {reason}."));
        run.pages = PagesSeen::None;
    } else if layers.contains(&Layer::Pages) {
        run.pages = processes.iter().map(|process| process.pages).max().unwrap_or_default();
    }
    run.notes.extend(start.followed.record_limits.iter().map(|limit| format!("{limit}.")));
    Trace { run, processes, threads, files, objects, loads, phases, events, lookups }
}

/// Cuts a read at the end of the file: the kernel reports the requested length, and small files are read with large buffers. A read
/// past the end was valid at its time.
fn end_with_file(event: &mut Event, files: &[TracedFile]) {
    let file = event.file.and_then(|file| files.get(usize::try_from(file.0).ok()?));
    let Some(identity) = file.and_then(|file| file.identity).filter(|_| event.kind == EventKind::Read) else { return };
    let left = identity.size.div_ceil(4096).saturating_sub(event.page);
    if left > 0 {
        event.pages = event.pages.min(u32::try_from(left).unwrap_or(u32::MAX));
    }
}

/// Calls of `execve` are reported by the observer of names, if there is one: of two filters only one takes effect.
fn add_executions(start: &mut FollowedStart, names: &NameLog) {
    let notes = &mut start.followed.notes;
    for &(at, thread) in &names.executions {
        // The caller has its process's number, unless another thread than the first one calls.
        let at = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        notes.push(Note { at, process: thread, thread, what: NoteKind::ExecCalled });
    }
    notes.sort_by_key(|note| note.at);
}

fn known_files(files: &[TracedFile], names: &NameLog) -> KnownFiles {
    let mut known = KnownFiles::new();
    for file in files {
        known.add(FileKey { device: file.device, inode: file.inode }, &file.path, file.identity);
    }
    known.add_names(names);
    known
}

/// The owner of a PID at a given time: PIDs are reused.
struct Living<'a> {
    processes: &'a [TracedProcess],
    threads: &'a [TracedThread],
    /// Places in the lists, by number, in the order in which they began.
    by_process: HashMap<u32, Vec<u32>>,
    by_thread: HashMap<u32, Vec<u32>>,
}

impl<'a> Living<'a> {
    fn new(processes: &'a [TracedProcess], threads: &'a [TracedThread]) -> Self {
        let mut living = Self { processes, threads, by_process: HashMap::new(), by_thread: HashMap::new() };
        for (place, process) in (0u32..).zip(processes) {
            living.by_process.entry(process.number).or_default().push(place);
        }
        for (place, thread) in (0u32..).zip(threads) {
            living.by_thread.entry(thread.number).or_default().push(place);
        }
        living
    }

    fn began(&self, process: ProcessId) -> Option<Moment> {
        self.processes.get(usize::try_from(process.0).ok()?).map(|process| process.began)
    }

    fn process(&self, number: u32, at: Moment) -> Option<ProcessId> {
        let places = self.by_process.get(&number)?;
        let begun = places.iter().rev().find(|&&place| self.began(ProcessId(place)).is_some_and(|began| began <= at));
        begun.or(places.first()).map(|&place| ProcessId(place))
    }

    fn thread(&self, number: u32, at: Moment) -> Option<ThreadId> {
        let places = self.by_thread.get(&number)?;
        let begun = places.iter().rev().find(|&&place| {
            let thread = usize::try_from(place).ok().and_then(|place| self.threads.get(place));
            thread.and_then(|thread| self.began(thread.process)).is_some_and(|began| began <= at)
        });
        begun.or(places.first()).map(|&place| ThreadId(place))
    }
}
