//! The figures of a trace: usage by process, file and stage, and seeks.
//!
//! [`Figures::of`] goes once through the events and computes all of it. Not obvious: figures of
//! pages come in two kinds. *Touches* count each process's first use of a page, so two processes that use the same
//! page make two; *pages* ([`PageCounts`]) are distinct ones, whoever used them.

mod activity;
mod basis;
mod counts;
mod files;
mod files_seen;
mod initialisers;
mod page_set;
mod pages;
mod sections;
mod seeks;
mod stage;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod times;

use serde::Serialize;

use super::{LookupKind, ProcessId, Trace};
use activity::Deed;

pub use activity::{Activity, TouchCounts};
pub use basis::{Basis, Difference, SumOf};
pub use counts::Counts;
pub use files::FileFigures;
pub use files_seen::FilesSeen;
pub use initialisers::{Direction, InitialiserOrder};
pub use pages::{Fills, PageCounts};
pub use sections::SectionFigures;
pub use seeks::{Seeks, StagedSeeks};
pub use stage::{ByStage, Half, Stage, Stages};
pub use times::{KindTime, ObjectTime, Times};

/// What a launcher starts touches so many times as much as the launcher itself, at least.
const LAUNCHED_DOES_MORE: u64 = 2;

/// Everything that can be counted in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// What the figures rest on: look here before comparing them with those of another trace.
    pub basis: Basis,
    /// Which counts of reads, of the disk and of names mean anything: those of others are zero without meaning it.
    pub files_seen: FilesSeen,
    /// Plain counts.
    pub counts: Counts,
    /// Of the whole run.
    pub total: Activity,
    /// Of the whole run: the sum of all files.
    pub pages: PageCounts,
    /// Of each process, as in [`Trace::processes`].
    pub processes: Vec<ProcessFigures>,
    /// Of each file that something happened to, and of each object, in the order of [`Trace::files`].
    pub files: Vec<FileFigures>,
    /// Where the time went.
    pub times: Times,
    /// In which order initialisers ran.
    pub initialisers: Vec<InitialiserOrder>,
}

/// Of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessFigures {
    /// What it did.
    pub activity: Activity,
    /// Its threads.
    pub threads: u64,
    /// Its questions about names.
    pub lookups: u64,
    /// Of these, about names that are not there.
    pub failed_lookups: u64,
    /// Its listings of directories.
    pub listings: u64,
}

impl Figures {
    /// Of a trace. Takes a time that grows with the number of events, and little more.
    pub fn of(trace: &Trace) -> Self {
        let stages = Stages::of(trace);
        let mut processes = vec![ProcessFigures::default(); trace.processes.len()];
        let mut files = files::Gathering::new(trace);
        let mut total = Activity::default();
        for event in &trace.events {
            let process = trace.process_of(event);
            let stage = process.map_or(Stage::Other, |process| stages.at(process, event.at));
            let step = files.step(event, process, stage);
            let deed = Deed { kind: event.kind, pages: event.pages, stage, step };
            files.add(event, &deed);
            total.count(&deed);
            if let Some(figures) = of_process(&mut processes, process) {
                figures.activity.count(&deed);
            }
        }
        count_rest(trace, &mut processes);
        let files = files.finish(trace);
        let mut pages = PageCounts::default();
        files.iter().for_each(|file| pages += file.pages);
        Self {
            basis: Basis::of(&trace.run),
            files_seen: FilesSeen::of(&trace.run, &total),
            counts: Counts::of(trace),
            total,
            pages,
            processes,
            files,
            times: Times::of(trace),
            initialisers: initialisers::orders(trace),
        }
    }

    /// Of a file; `None` if nothing happened to it.
    pub fn file(&self, file: super::FileId) -> Option<&FileFigures> {
        let place = self.files.binary_search_by_key(&file, |figures| figures.file).ok()?;
        self.files.get(place)
    }

    /// The process that the start is about: the first one, unless it is a launcher. A launcher's script does little,
    /// what it starts does much.
    pub fn main_process(&self) -> ProcessId {
        let amount = |process: &ProcessFigures| {
            process.activity.touches.total().all.saturating_add(process.activity.functions.total())
        };
        let mut main = (0, self.processes.first().map_or(0, amount).saturating_mul(LAUNCHED_DOES_MORE));
        for (place, process) in (0u32..).zip(&self.processes) {
            if amount(process) > main.1 {
                main = (place, amount(process));
            }
        }
        ProcessId(main.0)
    }

    /// Of a process.
    pub fn process(&self, process: ProcessId) -> Option<&ProcessFigures> {
        self.processes.get(usize::try_from(process.0).ok()?)
    }
}

fn of_process(processes: &mut [ProcessFigures], process: Option<ProcessId>) -> Option<&mut ProcessFigures> {
    processes.get_mut(usize::try_from(process?.0).ok()?)
}

/// What is not in the events.
fn count_rest(trace: &Trace, processes: &mut [ProcessFigures]) {
    for thread in &trace.threads {
        if let Some(figures) = of_process(processes, Some(thread.process)) {
            figures.threads += 1;
        }
    }
    for lookup in &trace.lookups {
        if let Some(figures) = of_process(processes, lookup.process) {
            figures.lookups += 1;
            figures.failed_lookups += u64::from(lookup.failed);
            figures.listings += u64::from(lookup.kind == LookupKind::List && !lookup.failed);
        }
    }
}
