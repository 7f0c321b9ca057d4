//! The figures in serialisable form: with paths and names instead of indices. Times are nanoseconds since the launch.

use std::ffi::OsString;
use std::path::Path;

use coldstart_profile::JsonPath;
use coldstart_profile::trace::figures::{
    Activity, Basis, Counts, Direction, FileFigures, FilesSeen, InitialiserOrder, KindTime, ObjectTime, PageCounts,
    ProcessFigures, SectionFigures, Seeks,
};
use coldstart_profile::trace::{
    FileCategory, FileId, Known, Lookup, LookupKind, PagesSeen, Phase, PhaseId, PhaseKind, ProcessId, RunEnd,
    StartState, TracedProcess,
};
use serde::Serialize;

use super::TraceView;

/// The summary of a trace.
#[derive(Serialize)]
pub struct TraceSummary<'a> {
    run: RunJson<'a>,
    basis: &'a Basis,
    files_seen: FilesSeen,
    counts: &'a Counts,
    total: &'a Activity,
    pages: &'a PageCounts,
    processes: Vec<ProcessJson<'a>>,
    phases: Vec<PhaseJson>,
    kinds: Vec<&'a KindTime>,
    objects: Vec<ObjectJson>,
    files: Vec<FileJson<'a>>,
    initialisers: Vec<OrderJson<'a>>,
    failed_lookups: Vec<LookupJson>,
}

#[derive(Serialize)]
struct RunJson<'a> {
    command: Vec<JsonPath>,
    started: i64,
    state: StartState,
    readiness: &'a str,
    ready_nanoseconds: Option<u64>,
    ended_nanoseconds: u64,
    /// `null` if unknown.
    end: Option<RunEnd>,
    stops: u64,
    stopped_nanoseconds: u64,
    kernel: &'a str,
    processors: u32,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ProcessJson<'a> {
    /// The value of `process` in other members.
    process: ProcessId,
    number: u32,
    parent: Option<ProcessId>,
    program: JsonPath,
    arguments: Vec<JsonPath>,
    began_nanoseconds: u64,
    ended_nanoseconds: Option<u64>,
    executed: bool,
    pages_seen: PagesSeen,
    notes: &'a [String],
    #[serde(flatten)]
    figures: Option<&'a ProcessFigures>,
}

#[derive(Serialize)]
struct PhaseJson {
    /// The value of `parent` and `phases` in other members.
    phase: PhaseId,
    process: ProcessId,
    kind: PhaseKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<JsonPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    begin_nanoseconds: u64,
    end_nanoseconds: u64,
    own_nanoseconds: u64,
    parent: Option<PhaseId>,
    known: Known,
}

#[derive(Serialize)]
struct ObjectJson {
    process: ProcessId,
    object: JsonPath,
    relocation_nanoseconds: u64,
    initialisers_nanoseconds: u64,
    other_nanoseconds: u64,
}

#[derive(Serialize)]
struct FileJson<'a> {
    file: JsonPath,
    category: Option<FileCategory>,
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    soname: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_id: Option<&'a str>,
    activity: &'a Activity,
    pages: &'a PageCounts,
    sections: Vec<SectionJson<'a>>,
}

#[derive(Serialize)]
struct SectionJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    figures: &'a SectionFigures,
}

#[derive(Serialize)]
struct OrderJson<'a> {
    process: ProcessId,
    object: JsonPath,
    direction: Direction,
    seeks: &'a Seeks,
    time_nanoseconds: u64,
    phases: &'a [PhaseId],
}

#[derive(Serialize)]
struct LookupJson {
    at_nanoseconds: u64,
    process: Option<ProcessId>,
    kind: LookupKind,
    name: JsonPath,
}

impl<'a> TraceView<'a> {
    /// The whole summary, with limited lists.
    pub fn summary(&self) -> TraceSummary<'a> {
        let view = self;
        let (trace, figures, limit) = (view.trace, view.figures, view.limit);
        let processes = (0u32..).zip(&trace.processes).take(limit);
        let phases = (0u32..).zip(&trace.phases).filter(|(_, phase)| phase.file.is_none_or(|file| view.wants(file)));
        let objects = figures.times.objects.iter().filter(|time| view.wants(time.file)).take(limit);
        let orders = figures.initialisers.iter().filter(|order| view.wants(order.file)).take(limit);
        let failed = trace.lookups.iter().filter(|lookup| lookup.failed).take(limit);
        TraceSummary {
            run: run(view),
            basis: &figures.basis,
            files_seen: figures.files_seen,
            counts: &figures.counts,
            total: &figures.total,
            pages: &figures.pages,
            processes: processes.map(|(place, process)| process_json(view, ProcessId(place), process)).collect(),
            phases: phases.take(limit).map(|(place, phase)| phase_json(view, PhaseId(place), phase)).collect(),
            kinds: figures.times.kinds.iter().take(limit).collect(),
            objects: objects.map(|time| object_json(view, time)).collect(),
            files: view.files().into_iter().take(limit).map(|file| file_json(view, file)).collect(),
            initialisers: orders.map(|order| order_json(view, order)).collect(),
            failed_lookups: failed.map(lookup_json).collect(),
        }
    }
}

fn words(words: &[OsString]) -> Vec<JsonPath> {
    words.iter().map(|word| JsonPath::new(Path::new(word))).collect()
}

fn path(view: &TraceView<'_>, file: FileId) -> JsonPath {
    JsonPath::new(view.path(file))
}

fn run<'a>(view: &TraceView<'a>) -> RunJson<'a> {
    let run = &view.trace.run;
    RunJson {
        command: words(&run.command),
        started: run.started,
        state: run.state,
        readiness: &run.readiness,
        ready_nanoseconds: run.ready_at.map(|at| at.0),
        ended_nanoseconds: run.ended_at.0,
        end: run.known_end(),
        stops: run.stops,
        stopped_nanoseconds: run.stopped,
        kernel: &run.kernel,
        processors: run.processors,
        notes: &run.notes,
    }
}

fn process_json<'a>(view: &TraceView<'a>, id: ProcessId, process: &'a TracedProcess) -> ProcessJson<'a> {
    ProcessJson {
        process: id,
        number: process.number,
        parent: process.parent,
        program: JsonPath::new(&process.program),
        arguments: words(&process.arguments),
        began_nanoseconds: process.began.0,
        ended_nanoseconds: process.ended.map(|at| at.0),
        executed: process.executed,
        pages_seen: process.pages,
        notes: &process.notes,
        figures: view.figures.process(id),
    }
}

fn phase_json(view: &TraceView<'_>, id: PhaseId, phase: &Phase) -> PhaseJson {
    PhaseJson {
        phase: id,
        process: phase.process,
        kind: phase.kind,
        object: phase.file.map(|file| path(view, file)),
        address: phase.address,
        begin_nanoseconds: phase.begin.0,
        end_nanoseconds: phase.end.0,
        own_nanoseconds: view.figures.times.own_of(id),
        parent: phase.parent,
        known: phase.known,
    }
}

fn object_json(view: &TraceView<'_>, time: &ObjectTime) -> ObjectJson {
    ObjectJson {
        process: time.process,
        object: path(view, time.file),
        relocation_nanoseconds: time.relocation,
        initialisers_nanoseconds: time.initialisers,
        other_nanoseconds: time.other,
    }
}

fn file_json<'a>(view: &TraceView<'a>, figures: &'a FileFigures) -> FileJson<'a> {
    let (file, object) = (view.trace.file(figures.file), view.trace.object(figures.file));
    let section = |section: &'a SectionFigures| {
        let name = object.and_then(|object| object.sections.get(section.section)).map_or("", |section| &section.name);
        SectionJson { name, figures: section }
    };
    FileJson {
        file: path(view, figures.file),
        category: file.map(|file| file.category),
        size: file.and_then(|file| file.identity).map(|identity| identity.size),
        soname: object.and_then(|object| object.soname.as_deref()),
        build_id: object.and_then(|object| object.build_id.as_deref()),
        activity: &figures.activity,
        pages: &figures.pages,
        sections: figures.sections.iter().map(section).collect(),
    }
}

fn order_json<'a>(view: &TraceView<'a>, order: &'a InitialiserOrder) -> OrderJson<'a> {
    OrderJson {
        process: order.process,
        object: path(view, order.file),
        direction: order.direction,
        seeks: &order.seeks,
        time_nanoseconds: order.time,
        phases: &order.phases,
    }
}

fn lookup_json(lookup: &Lookup) -> LookupJson {
    LookupJson {
        at_nanoseconds: lookup.at.0,
        process: lookup.process,
        kind: lookup.kind,
        name: JsonPath::new(&lookup.path),
    }
}
