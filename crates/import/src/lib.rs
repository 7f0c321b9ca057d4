//! Imports a recording of `perf record` as a trace: page faults and mappings become page touches, as in our own
//! recordings. And a fleet table (`fleet/`): what many hosts touched becomes a typical start here.
//!
//! What a newcomer would not guess: perf records each fault, but fault-around is on, so only some of the used pages
//! have one (`PagesSeen::FaultAround`). And the files may have changed since, or be from another machine, so each is
//! checked against its build id before it is described.

mod bytes;
mod container;
mod decode;
mod error;
mod events;
mod facts;
mod first;
mod fleet;
mod frames;
mod numbers;
mod recording;
mod same;
mod unpack;

use std::path::Path;

use coldstart_analyse::{self as analyse, Analysed, OpenedObjects, Places, Recorded, file_seen};
use coldstart_profile::trace::{Layer, Moment, PagesSeen, Run, RunEnd, Trace, TracedProcess};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{NotUsable, open_regular};

use container::{Kind, kind};
pub use error::ImportError;
use first::{First, first, keep_start};
pub use fleet::{FleetError, FleetTable, is_fleet_table};
use recording::{Recording, Trouble};
use same::{Same, changed};

/// The largest recording that is read, in bytes. It is mapped, and its records become a trace in memory.
const MOST_BYTES: u64 = 4 << 30;

/// Reads a recording of `perf record` (version 2 of the format, of either byte order, also written into a pipe, also
/// compressed with zstd) that has page faults with their addresses, and makes a trace of it.
///
/// # Errors
/// If the file cannot be read, is no such recording, is damaged before its first record, or was made without what a
/// trace needs. One that was cut off is not an error: its trace has what there was, and [`Run::complete`] is `false`.
pub fn import(path: &Path) -> Result<Trace, ImportError> {
    let io = |source| ImportError::Io { path: path.to_owned(), source };
    let file = open_regular(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() > MOST_BYTES {
        return Err(io(NotUsable::TooLarge { limit: MOST_BYTES }.into()));
    }
    let view = FileView::map(file).map_err(io)?;
    let trace = import_bytes(path, view.bytes());
    // What a file that shrinks has lost reads as zeros and would be taken for damage.
    if view.shrank() { Err(ImportError::Shrank { path: path.to_owned() }) } else { trace }
}

/// As [`import`], of a recording that is in memory. The path is what errors name.
///
/// # Errors
/// As [`import`].
pub fn import_bytes(path: &Path, bytes: &[u8]) -> Result<Trace, ImportError> {
    let to_path = path.to_owned();
    let order = match kind(bytes) {
        Kind::Perf(order) => order,
        Kind::Other(found) => return Err(ImportError::NotPerf { path: to_path, found }),
    };
    let mut recording = Recording::read(bytes, order).map_err(|trouble| match trouble {
        Trouble::Damaged(damage) => {
            ImportError::Damaged { path: path.to_owned(), offset: damage.offset, what: damage.what }
        }
        Trouble::Unfit(what, option) => ImportError::Unfit { path: path.to_owned(), what, option },
    })?;
    let Some(first) = first(&recording.records, &recording.facts.command) else {
        return Err(ImportError::Empty { path: to_path, what: "it has no page faults" });
    };
    let dropped = keep_start(&mut recording.records, &first);
    if dropped > 0 {
        recording.notes.push(format!("{dropped} faults from before the launch are left out."));
    }
    Ok(trace(path, &recording, &first))
}

fn trace(path: &Path, recording: &Recording, first: &First) -> Trace {
    let until = recording.records.last().map_or(first.launched_at, |record| record.at);
    let recorded = Recorded {
        records: &recording.records,
        notes: &[],
        launched_at: first.launched_at,
        until,
        first: first.process,
    };
    let joined = analyse::join(&recorded, &|path| file_seen(path, None));
    let started = started(path, recording, first.launched_at, until);
    let seconds = i64::try_from(until.saturating_sub(first.launched_at) / 1_000_000_000).unwrap_or(i64::MAX);
    let mut same = Same::new(&recording.build_ids, started.saturating_add(seconds).saturating_add(1));
    let opened = OpenedObjects::open(&joined, None, &mut |_, file| same.is_same(file));
    let objects = opened.describe();
    let Analysed { processes, threads, mut files, loads, phases, events } =
        analyse::finish(joined, &objects, &|file, address| opened.writes(file, address));
    let main = processes.iter().find(|process| process.number == first.process && process.executed == first.executed);
    let program = main.map(|process| process.program.clone()).unwrap_or_default();
    let places = Places::here(&program);
    analyse::identify(&mut files, &|path| file_seen(path, None), &|path| places.category(path, false));
    let mut run = run(recording, first, main, Moment(until.saturating_sub(first.launched_at)));
    run.started = started;
    if run.command.is_empty() {
        run.command.push(program.into());
    }
    if !phases.is_empty() {
        run.layers.insert(0, Layer::Phases);
    }
    run.notes.extend(same.notes());
    Trace { run, processes, threads, files, objects, loads, phases, events, lookups: Vec::new() }
}

/// Seconds since 1970: by the clock if perf told how it relates to the time of day (`-k`), else the recording was
/// finished when it was written.
fn started(path: &Path, recording: &Recording, launched_at: u64, until: u64) -> i64 {
    let seconds = |nanoseconds: u64| i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX);
    match recording.facts.clock {
        Some((wall, clock)) if launched_at >= clock => wall.saturating_add(seconds(launched_at.saturating_sub(clock))),
        Some((wall, clock)) => wall.saturating_sub(seconds(clock.saturating_sub(launched_at))),
        None => changed(path).saturating_sub(seconds(until.saturating_sub(launched_at))),
    }
}

fn run(recording: &Recording, first: &First, main: Option<&TracedProcess>, until: Moment) -> Run {
    let ended = main.and_then(|process| process.ended);
    let mut notes = vec!["It was imported from a recording of perf, which tells pages only.".to_owned()];
    if !first.executed {
        notes.push("The program ran already when the recording began: what it touched before is not here.".to_owned());
    }
    match ended {
        Some(_) => notes.push("A recording of perf does not say how the program ended.".to_owned()),
        None => notes.push("The end of the program was not recorded.".to_owned()),
    }
    notes.extend(recording.notes.iter().cloned());
    Run {
        command: first.command.clone(),
        layers: vec![Layer::Pages],
        pages: PagesSeen::FaultAround,
        ready_at: ended,
        ended_at: ended.unwrap_or(until),
        end: if ended.is_some() { RunEnd::EndedWhenReady } else { RunEnd::Interrupted },
        readiness: "its end".to_owned(),
        lost_events: recording.lost,
        kernel: recording.facts.kernel.clone().unwrap_or_default(),
        processors: recording.facts.processors.unwrap_or(0),
        complete: recording.complete,
        notes,
        ..Run::default()
    }
}
