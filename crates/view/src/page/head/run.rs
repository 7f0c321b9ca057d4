//! The run, its processes and its threads.

use coldstart_profile::trace::{Layer, PagesSeen, ProcessId, Trace, TracedProcess, TracedThread};
use serde::Serialize;

use crate::notes::notes;
use crate::outcome;
use crate::page::words;

/// About the run as a whole.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunHead<'a> {
    command: Vec<String>,
    started: i64,
    state: &'static str,
    ready: String,
    ready_at: Option<u64>,
    ended_at: u64,
    layers: &'a [Layer],
    pages: PagesSeen,
    lost_events: u64,
    complete: bool,
    kernel: &'a str,
    processors: u32,
    notes: Vec<String>,
}

/// One program image of one process.
#[derive(Serialize)]
pub(super) struct ProcessHead {
    number: u32,
    parent: Option<ProcessId>,
    program: String,
    arguments: Vec<String>,
    began: u64,
    ended: Option<u64>,
    executed: bool,
}

/// A thread.
#[derive(Serialize)]
pub(super) struct ThreadHead {
    number: u32,
    process: ProcessId,
}

pub(super) fn run(trace: &Trace) -> RunHead<'_> {
    let run = &trace.run;
    RunHead {
        command: words::texts(&run.command),
        started: run.started,
        state: run.state.words(),
        ready: outcome::ready(run),
        ready_at: run.ready_at.map(|at| at.0),
        ended_at: run.ended_at.0,
        layers: &run.layers,
        pages: run.pages,
        lost_events: run.lost_events,
        complete: run.complete,
        kernel: &run.kernel,
        processors: run.processors,
        notes: notes(trace),
    }
}

pub(super) fn process(process: &TracedProcess) -> ProcessHead {
    ProcessHead {
        number: process.number,
        parent: process.parent,
        program: words::path(&process.program),
        arguments: words::texts(&process.arguments),
        began: process.began.0,
        ended: process.ended.map(|at| at.0),
        executed: process.executed,
    }
}

pub(super) fn thread(thread: &TracedThread) -> ThreadHead {
    ThreadHead { number: thread.number, process: thread.process }
}
