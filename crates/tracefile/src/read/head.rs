//! Reads everything except events and lookups.

use std::ops::ControlFlow;

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{
    FileId, Load, Phase, PhaseId, ProcessId, Run, Trace, TracedFile, TracedProcess, TracedThread,
};

use super::rows::{Cells, Wrong, numbered};
use super::{About, objects};
use crate::error::TraceFileError;
use crate::open::TraceFile;
use crate::words::{layers_of, run_end_of};

const ON: Result<ControlFlow<()>, Wrong> = Ok(ControlFlow::Continue(()));

pub(super) fn about(file: &TraceFile) -> Result<About, TraceFileError> {
    let mut about = About::default();
    numbered(file, "meta", 1, "SELECT rowid, name, value FROM meta ORDER BY rowid", |cells| {
        match cells.text(1)?.as_str() {
            "coldstart" => about.coldstart = cells.text(2)?,
            "events" => about.events = cells.u64(2)?,
            "events_expected" => about.events_expected = cells.u64(2)?,
            "lookups" => about.lookups = cells.u64(2)?,
            "lookups_expected" => about.lookups_expected = cells.u64(2)?,
            // Later versions may say more.
            _ => {}
        }
        ON
    })?;
    Ok(about)
}

pub(super) fn read(file: &TraceFile) -> Result<Trace, TraceFileError> {
    let mut trace = Trace { run: run(file)?, ..Trace::default() };
    processes(file, &mut trace)?;
    words(file, &mut trace)?;
    files(file, &mut trace)?;
    trace.objects = objects::read(file)?;
    phases(file, &mut trace)?;
    Ok(trace)
}

fn run(file: &TraceFile) -> Result<Run, TraceFileError> {
    let mut run = None;
    let sql = "SELECT rowid, started, layers, pages, state, ready_at, ended_at, how_it_ended, code, readiness, lost_events, \
               stops, stopped, kernel, processors, complete FROM run ORDER BY rowid";
    numbered(file, "run", 1, sql, |cells| {
        if run.is_some() {
            return Err(Wrong::Value("more than one run".to_owned()));
        }
        let layers = cells.text(2)?;
        let end = cells.text(7)?;
        let code = cells.optional(8, |cells, column| cells.small(column))?;
        run = Some(Run {
            command: Vec::new(),
            started: cells.integer(1)?,
            layers: layers_of(&layers).ok_or_else(|| cells.unknown(2, &layers))?,
            pages: cells.word(3)?,
            state: cells.word(4)?,
            ready_at: cells.optional(5, |cells, column| cells.moment(column))?,
            ended_at: cells.moment(6)?,
            end: run_end_of(&end, code).ok_or_else(|| cells.unknown(7, &end))?,
            readiness: cells.text(9)?,
            lost_events: cells.u64(10)?,
            stops: cells.u64(11)?,
            stopped: cells.u64(12)?,
            kernel: cells.text(13)?,
            processors: cells.small(14)?,
            complete: cells.flag(15)?,
            notes: Vec::new(),
        });
        ON
    })?;
    run.ok_or_else(|| TraceFileError::damaged(file.path(), "table `run` is empty"))
}

/// The number of something that is before row `child`.
fn earlier(cells: &mut Cells<'_>, column: usize, child: usize) -> Result<Option<u32>, Wrong> {
    let parent = cells.optional(column, |cells, column| cells.small::<u32>(column))?;
    if parent.is_some_and(|parent| usize::try_from(parent).is_ok_and(|parent| parent >= child)) {
        return Err(Wrong::Value("its parent comes after it".to_owned()));
    }
    Ok(parent)
}

fn processes(file: &TraceFile, trace: &mut Trace) -> Result<(), TraceFileError> {
    let sql = "SELECT id, number, parent, program, began_at, ended_at, executed, pages FROM process ORDER BY id";
    numbered(file, "process", 0, sql, |cells| {
        trace.processes.push(TracedProcess {
            number: cells.small(1)?,
            parent: earlier(cells, 2, trace.processes.len())?.map(ProcessId),
            program: cells.bytes(3)?.into(),
            arguments: Vec::new(),
            began: cells.moment(4)?,
            ended: cells.optional(5, |cells, column| cells.moment(column))?,
            executed: cells.flag(6)?,
            pages: cells.word(7)?,
            notes: Vec::new(),
        });
        ON
    })?;
    numbered(file, "thread", 0, "SELECT id, number, process FROM thread ORDER BY id", |cells| {
        trace.threads.push(TracedThread { number: cells.small(1)?, process: ProcessId(cells.small(2)?) });
        ON
    })
}

/// Arguments and notes, of the run and of processes.
fn words(file: &TraceFile, trace: &mut Trace) -> Result<(), TraceFileError> {
    let unknown = |number: usize| Wrong::Value(format!("no process {number}"));
    numbered(file, "argument", 1, "SELECT rowid, process, word FROM argument ORDER BY rowid", |cells| {
        let word = cells.bytes(2)?;
        match cells.optional(1, |cells, column| cells.small::<usize>(column))? {
            None => trace.run.command.push(word),
            Some(number) => {
                trace.processes.get_mut(number).ok_or_else(|| unknown(number))?.arguments.push(word);
            }
        }
        ON
    })?;
    numbered(file, "note", 1, "SELECT rowid, process, sentence FROM note ORDER BY rowid", |cells| {
        let sentence = cells.text(2)?;
        match cells.optional(1, |cells, column| cells.small::<usize>(column))? {
            None => trace.run.notes.push(sentence),
            Some(number) => {
                trace.processes.get_mut(number).ok_or_else(|| unknown(number))?.notes.push(sentence);
            }
        }
        ON
    })
}

fn files(file: &TraceFile, trace: &mut Trace) -> Result<(), TraceFileError> {
    let sql = "SELECT id, path, device, inode, size, modified, category FROM file ORDER BY id";
    numbered(file, "file", 0, sql, |cells| {
        let size = cells.optional(4, |cells, column| cells.u64(column))?;
        let modified = cells.optional(5, |cells, column| cells.integer(column))?;
        let identity = match (size, modified) {
            (Some(size), Some(modified)) => Some(FileIdentity { size, modified }),
            (None, None) => None,
            _ => return Err(Wrong::Value("size without modification time, or the reverse".to_owned())),
        };
        trace.files.push(TracedFile {
            path: cells.bytes(1)?.into(),
            device: cells.u64(2)?,
            inode: cells.u64(3)?,
            identity,
            category: cells.word(6)?,
        });
        ON
    })
}

fn phases(file: &TraceFile, trace: &mut Trace) -> Result<(), TraceFileError> {
    numbered(file, "load", 1, "SELECT rowid, process, file, bias, at FROM load ORDER BY rowid", |cells| {
        trace.loads.push(Load {
            process: ProcessId(cells.small(1)?),
            file: FileId(cells.small(2)?),
            bias: cells.u64(3)?,
            at: cells.moment(4)?,
        });
        ON
    })?;
    let sql = "SELECT id, process, kind, file, address, begin_at, end_at, parent, known FROM phase ORDER BY id";
    numbered(file, "phase", 0, sql, |cells| {
        trace.phases.push(Phase {
            process: ProcessId(cells.small(1)?),
            kind: cells.word(2)?,
            file: cells.optional(3, |cells, column| cells.small(column))?.map(FileId),
            address: cells.optional(4, |cells, column| cells.u64(column))?,
            begin: cells.moment(5)?,
            end: cells.moment(6)?,
            parent: earlier(cells, 7, trace.phases.len())?.map(PhaseId),
            known: cells.word(8)?,
        });
        ON
    })
}
