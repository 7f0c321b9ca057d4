//! First calls of functions: which to watch, after a first start has shown the used pages, and how they enter its trace.
//!
//! Breakpoints are set only in pages that the first start touched, and only where an instruction provably begins. Their
//! cost falls unevenly on the second start, so its times are mapped to those of the first one between phases that both have.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;

use coldstart_analyse::{self as analyse, kernel_number};
use coldstart_profile::trace::{
    CodeAddress, Event, EventKind, FileId, Layer, Moment, PhaseKind, ProcessId, RunEnd, ThreadId, Trace,
};
use coldstart_symbols::{FunctionStarts, ObjectFile, TouchedPages, WantedPages, describe, function_starts};
use coldstart_sys::private_mounts::{PrivateMounts, outside};

use super::follow::{ArmedFunctions, FileKey};
use super::record::IsWanted;
use super::session::FollowedStart;

/// The functions to watch, and notes on the rest.
#[derive(Debug, Default)]
pub(super) struct Arming {
    pub(super) functions: ArmedFunctions,
    pub(super) notes: Vec<String>,
}

/// Chooses among the pages that the first start touched.
///
/// `is_wanted` is called with an object's path and soname.
pub(super) fn choose(
    trace: &Trace,
    mounts: Option<&PrivateMounts>,
    everywhere: bool,
    is_wanted: &IsWanted<'_>,
) -> Arming {
    let mut pages: BTreeMap<FileId, BTreeSet<u64>> = BTreeMap::new();
    for event in &trace.events {
        if let (EventKind::Touch(touch), Some(file)) = (event.kind, event.file)
            && !touch.zero_filled
        {
            pages.entry(file).or_default().insert(event.page);
        }
    }
    let mut arming = Arming::default();
    let mut found = false;
    for object in &trace.objects {
        let Some(file) = trace.file(object.file) else { continue };
        if !is_wanted(&file.path, object.soname.as_deref()) {
            continue;
        }
        let path = file.path.to_string_lossy();
        found = true;
        let touched = pages.get(&object.file).cloned().unwrap_or_default();
        let wanted = if everywhere { WantedPages::All } else { WantedPages::Of(&touched) };
        let starts = ObjectFile::open(outside(mounts, &file.path)).and_then(|opened| function_starts(&opened, &wanted));
        match starts {
            Ok(FunctionStarts { coverage, .. }) if !coverage.is_enough() => arming.notes.push(format!(
                "First calls in {path} are not recorded: its unwind tables and symbols cover only {:.0} % of its code. The pages \
                 layer shows which 4 KiB of it were executed.",
                coverage.share() * 100.0
            )),
            Ok(starts) => {
                let key = FileKey { device: file.device, inode: file.inode };
                arming.functions.add(key, starts.starts.iter().map(|start| start.file_offset).collect());
            }
            Err(error) => arming.notes.push(format!("First calls in {path} are not recorded: {error}.")),
        }
    }
    if !found {
        arming.notes.push("No object used by the program was selected: no function was watched.".to_owned());
    }
    arming
}

/// Adds the first calls of the second start.
pub(super) fn add(trace: &mut Trace, mounts: Option<&PrivateMounts>, second: &FollowedStart) {
    let joined = analyse::join(&second.recorded(), &|_| None);
    let uses = joined.uses();
    let numbers = file_numbers(trace);
    // Second start's files by the first one's numbers.
    let mut same: HashMap<FileId, FileId> = HashMap::new();
    for (place, file) in (0u32..).zip(&joined.files) {
        let first = numbers.get(&(file.device, file.inode)).copied().or_else(|| by_path(trace, mounts, &file.path));
        if let Some(first) = first {
            same.insert(FileId(place), first);
        }
    }
    let mut objects = Vec::new();
    for (file, used) in &uses {
        let Some(first) = same.get(file) else { continue };
        let Some(mut object) = trace.object(*first).cloned() else { continue };
        object.file = *file;
        objects.push(object);
        name_functions(trace, mounts, *first, &used.instructions);
    }
    let analysed = analyse::finish(joined, &objects, &|_, _| None);
    let line = TimeLine::new(trace, &analysed);
    let mut thread_of: HashMap<ProcessId, ThreadId> = HashMap::new();
    for (place, thread) in (0u32..).zip(&trace.threads) {
        thread_of.entry(thread.process).or_insert(ThreadId(place));
    }
    // What kept first calls from being seen kept nothing from the first start.
    for (process, again) in trace.processes.iter_mut().zip(&analysed.processes) {
        for note in &again.notes {
            if !process.notes.contains(note) {
                process.notes.push(note.clone());
            }
        }
    }
    let mut added = Vec::new();
    for event in &analysed.events {
        let (EventKind::Function, Some(file), Some(code)) = (event.kind, event.file, event.code) else { continue };
        let (Some(&file), Some(&code_file)) = (same.get(&file), same.get(&code.file)) else { continue };
        let process = analysed
            .threads
            .get(usize::try_from(event.thread.0).unwrap_or(usize::MAX))
            .map(|thread| thread.process)
            .filter(|process| usize::try_from(process.0).is_ok_and(|place| place < trace.processes.len()))
            .unwrap_or(ProcessId(0));
        let Some(&thread) = thread_of.get(&process) else { continue };
        added.push(Event {
            at: line.of(event.at),
            thread,
            file: Some(file),
            code: Some(CodeAddress { file: code_file, address: code.address }),
            ..*event
        });
    }
    let count = added.len();
    trace.events.extend(added);
    trace.events.sort_by_key(|event| event.at);
    if !trace.run.layers.contains(&Layer::Functions) {
        trace.run.layers.push(Layer::Functions);
    }
    trace.run.notes.push(format!(
        "{count} functions were first called in a second start of {:.1} ms, with breakpoints; their order is exact, their times are mapped to \
         the first start's between phases that both have. Functions in pages that the first start did not touch are not seen, unless \
         all were requested.",
        second.moment(second.until).0 as f64 / 1e6
    ));
    let end = second.end();
    if end != trace.run.end {
        trace.run.notes.push(format!(
            "The second start ended differently from the first ({} and {}): first calls may be missing.",
            in_words(end),
            in_words(trace.run.end)
        ));
    }
    if end == RunEnd::Interrupted {
        trace.run.end = end;
    }
}

fn in_words(end: RunEnd) -> String {
    match end {
        RunEnd::Exited(code) => format!("with exit code {code}"),
        RunEnd::Signalled(signal) => format!("by signal {signal}"),
        RunEnd::EndedWhenReady => "when it was ready".to_owned(),
        RunEnd::TimedOut => "at its time limit".to_owned(),
        RunEnd::Interrupted => "when the recording was interrupted".to_owned(),
    }
}

fn file_numbers(trace: &Trace) -> HashMap<(u64, u64), FileId> {
    (0u32..).zip(&trace.files).map(|(place, file)| ((file.device, file.inode), FileId(place))).collect()
}

fn by_path(trace: &Trace, mounts: Option<&PrivateMounts>, path: &std::path::Path) -> Option<FileId> {
    let metadata = std::fs::metadata(outside(mounts, path)).ok()?;
    let key = (kernel_number(metadata.dev()), metadata.ino());
    let place = trace.files.iter().position(|file| (file.device, file.inode) == key || file.path == path)?;
    Some(FileId(u32::try_from(place).ok()?))
}

/// Names of called functions outside the first start's pages.
fn name_functions(trace: &mut Trace, mounts: Option<&PrivateMounts>, file: FileId, offsets: &BTreeSet<u64>) {
    let Some(path) = trace.file(file).map(|file| file.path.clone()) else { return };
    let mut touched = TouchedPages::new();
    offsets.iter().for_each(|&offset| touched.add_instruction(offset));
    let described =
        ObjectFile::open(outside(mounts, &path)).ok().and_then(|object| describe(&object, file, &touched).ok());
    let Some(described) = described else { return };
    let Some(object) = trace.objects.iter_mut().find(|object| object.file == file) else { return };
    let known: BTreeSet<u64> = object.symbols.iter().map(|symbol| symbol.address).collect();
    object.symbols.extend(described.symbols.into_iter().filter(|symbol| !known.contains(&symbol.address)));
    object.symbols.sort_by_key(|symbol| symbol.address);
}

/// Maps times of the second start to the first.
struct TimeLine {
    /// Moments that are the same thing in both: second, first; ascending in both.
    stages: Vec<(u64, u64)>,
}

impl TimeLine {
    fn new(first: &Trace, second: &analyse::Analysed) -> Self {
        let of_first = stages(&first.phases);
        let of_second: HashMap<_, _> = stages(&second.phases).into_iter().collect();
        let mut both: Vec<(u64, u64)> =
            of_first.into_iter().filter_map(|(stage, at)| Some((*of_second.get(&stage)?, at))).collect();
        both.push((0, 0));
        both.sort_unstable();
        // One that would reverse time (another order of loading) is ignored.
        let mut stages: Vec<(u64, u64)> = Vec::with_capacity(both.len());
        for (there, here) in both {
            if stages.last().is_none_or(|&(last_there, last_here)| there > last_there && here >= last_here) {
                stages.push((there, here));
            }
        }
        let end = second.events.last().map_or(0, |event| event.at.0);
        let here = first.run.ended_at.0;
        if stages.last().is_none_or(|&(last_there, last_here)| end > last_there && here >= last_here) {
            stages.push((end, here));
        }
        Self { stages }
    }

    fn of(&self, at: Moment) -> Moment {
        let behind = self.stages.partition_point(|&(there, _)| there <= at.0);
        let before = behind.checked_sub(1).and_then(|place| self.stages.get(place)).copied().unwrap_or((0, 0));
        let since = at.0.saturating_sub(before.0);
        let Some(&(there, here)) = self.stages.get(behind) else { return Moment(before.1) };
        let (length, wanted) = (there.saturating_sub(before.0), here.saturating_sub(before.1));
        let inside = u128::from(since).saturating_mul(u128::from(wanted)) / u128::from(length.max(1));
        Moment(before.1.saturating_add(u64::try_from(inside).unwrap_or(wanted)))
    }
}

/// What a phase is, of which initialiser, and how many of the kind came before.
type Stage = (PhaseKind, Option<u64>, u32);

/// Begins of the first process's phases.
fn stages(phases: &[coldstart_profile::trace::Phase]) -> Vec<(Stage, u64)> {
    let mut counts: HashMap<(PhaseKind, Option<u64>), u32> = HashMap::new();
    let mut stages = Vec::new();
    for phase in phases.iter().filter(|phase| phase.process == ProcessId(0) && phase.kind != PhaseKind::Zeroing) {
        let count = counts.entry((phase.kind, phase.address)).or_default();
        stages.push(((phase.kind, phase.address, *count), phase.begin.0));
        *count = count.saturating_add(1);
    }
    stages
}
