//! The process and thread of each record in the file, and their names.
//!
//! A process that executes another program stays one process here, as its number does; its name lists the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use coldstart_profile::trace::{ProcessId, ThreadId, Trace};

use super::super::names::Names;
use super::record::{Arguments, Record, Records, Track};

/// The numbers of each further trace begin here. Linux's end at 2^22, and viewers keep 32 bits.
const NEXT_TRACE: u64 = 1_000_000_000;
/// Tracks that are not threads have numbers from here on.
const NO_THREADS: u64 = 10_000_000;
/// Numbers for one process's tracks that are not threads: of kinds and of further lanes of phases.
const PER_PROCESS: u64 = 16;
/// So many lanes there are for phases that do not nest; the first is the main thread itself.
pub(super) const LANES: u64 = 8;
/// The track for events without a known thread.
const NOBODY: u64 = 0;

/// What happened to pages and names of a process: each kind has a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Mapped,
    Waited,
    Touches,
    Fills,
    Reads,
    NotFound,
    Lookups,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Mapped, Self::Waited, Self::Touches, Self::Fills, Self::Reads, Self::NotFound, Self::Lookups];

    fn name(self) -> &'static str {
        match self {
            Self::Mapped => "objects mapped",
            Self::Waited => "touches that waited for the disk",
            Self::Touches => "other first touches",
            Self::Fills => "from the disk",
            Self::Reads => "read with system calls",
            Self::NotFound => "names not found",
            Self::Lookups => "names looked up",
        }
    }
}

/// Numbers of a trace's processes and threads in the file.
pub(super) struct Tracks {
    offset: u64,
    /// The kernel's number of each process, in the trace's order.
    processes: Vec<u64>,
    /// Of each thread: its process's and its own.
    threads: Vec<Track>,
    /// Place of each of the kernel's numbers, for tracks that are not threads.
    places: BTreeMap<u64, u64>,
}

impl Tracks {
    /// Of the file's trace number `place`.
    pub(super) fn new(trace: &Trace, place: usize) -> Self {
        let offset = NEXT_TRACE.saturating_mul(place as u64);
        let processes: Vec<u64> =
            trace.processes.iter().map(|process| offset.saturating_add(process.number.into())).collect();
        let number_of = |process: ProcessId| at(&processes, process.0).unwrap_or(offset + NOBODY);
        let thread = |thread: &coldstart_profile::trace::TracedThread| Track {
            process: number_of(thread.process),
            thread: offset.saturating_add(thread.number.into()),
        };
        let threads = trace.threads.iter().map(thread).collect();
        let numbers: BTreeSet<u64> = processes.iter().copied().chain([offset + NOBODY]).collect();
        let places = numbers.into_iter().zip(0..).collect();
        Self { offset, processes, threads, places }
    }

    /// The track of a process's phases.
    pub(super) fn main_thread(&self, process: ProcessId) -> Track {
        let number = at(&self.processes, process.0).unwrap_or(self.offset + NOBODY);
        Track { process: number, thread: number }
    }

    pub(super) fn of_thread(&self, thread: ThreadId) -> Track {
        let nobody = Track { process: self.offset + NOBODY, thread: self.offset + NOBODY };
        usize::try_from(thread.0).ok().and_then(|place| self.threads.get(place)).copied().unwrap_or(nobody)
    }

    pub(super) fn of_kind(&self, process: Option<ProcessId>, kind: Kind) -> Track {
        let process = process.and_then(|process| at(&self.processes, process.0)).unwrap_or(self.offset + NOBODY);
        self.beside(process, kind as u64)
    }

    /// A further track for phases, from 1 on.
    pub(super) fn lane(&self, process: ProcessId, lane: u64) -> Track {
        let main = self.main_thread(process);
        if lane == 0 { main } else { self.beside(main.process, Kind::ALL.len() as u64 + lane) }
    }

    fn beside(&self, process: u64, nth: u64) -> Track {
        let place = self.places.get(&process).copied().unwrap_or_default();
        let first = self.offset + NO_THREADS;
        Track { process, thread: first.saturating_add(place.saturating_mul(PER_PROCESS)).saturating_add(nth) }
    }

    /// Writes names and sort order of the tracks.
    pub(super) fn name(&self, names: &Names<'_>, source: Option<&str>, records: &mut Records<'_>) -> io::Result<()> {
        let mut programs: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (place, number) in (0..).zip(&self.processes) {
            let of_process = programs.entry(*number).or_default();
            let program = names.program(ProcessId(place)).into_owned();
            if of_process.last() != Some(&program) {
                of_process.push(program);
            }
        }
        for (order, (number, programs)) in (0..).zip(&programs) {
            let name = programs.join(" then ");
            let name = source.map_or_else(|| name.clone(), |source| format!("{source}: {name}"));
            let main = Track { process: *number, thread: *number };
            write_name("process_name", &name, main, records)?;
            let arguments = Arguments { sort_index: Some(order + self.offset), ..Arguments::default() };
            let sorted = Record::instant("process_sort_index", "__metadata", 0, main);
            records.write(&Record { phase: "M", scope: None, arguments, ..sorted })?;
            write_name("thread_name", programs.last().map_or("main", String::as_str), main, records)?;
            for kind in Kind::ALL {
                write_name("thread_name", kind.name(), self.beside(*number, kind as u64), records)?;
            }
        }
        for track in self.threads.iter().filter(|track| track.thread != track.process).collect::<BTreeSet<_>>() {
            write_name("thread_name", "thread", *track, records)?;
        }
        Ok(())
    }

    /// Names a further track for phases, once it is used.
    pub(super) fn name_lane(&self, process: ProcessId, lane: u64, records: &mut Records<'_>) -> io::Result<()> {
        write_name("thread_name", "phases at the same time", self.lane(process, lane), records)
    }
}

fn write_name(what: &'static str, name: &str, track: Track, records: &mut Records<'_>) -> io::Result<()> {
    let arguments = Arguments { name: Some(name), ..Arguments::default() };
    records.write(&Record { phase: "M", scope: None, arguments, ..Record::instant(what, "__metadata", 0, track) })
}

fn at(list: &[u64], place: u32) -> Option<u64> {
    list.get(usize::try_from(place).ok()?).copied()
}
