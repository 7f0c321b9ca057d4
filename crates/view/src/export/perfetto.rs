//! JSON in the Trace Event Format, record by record.
//!
//! Each process has its threads, which hold what its code did (phases on the first, first calls of functions), and tracks of its
//! own for what happened to pages and names; the format knows tracks as threads only. What a newcomer would not guess: viewers
//! tell processes and threads apart by number alone, over the whole file, so the second trace's numbers are moved.

mod record;
mod slices;
mod tracks;

use std::io::{self, Write};

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{Event, EventKind, LookupKind, ProcessId, Trace};
use serde_json::json;

use super::counting::{STEPS, counters};
use super::names::{Names, access};
use super::{Exported, TraceExport};
use crate::notes::notes;
use record::{Arguments, Record, Records};
use tracks::{Kind, Tracks};

pub(super) fn write(traces: &[TraceExport<'_>], out: &mut dyn Write) -> io::Result<Exported> {
    let mut records = Records::begin(out)?;
    for (place, export) in traces.iter().enumerate() {
        let tracks = Tracks::new(export.trace, place);
        let name = (traces.len() > 1).then_some(export.source);
        OneTrace { names: Names::new(export.trace), trace: export.trace, tracks }.write(name, &mut records)?;
    }
    let about: Vec<serde_json::Value> = traces.iter().map(about).collect();
    records.finish(&json!({
        "written-by": crate::mark::GENERATOR,
        "traces": about,
        "counters": format!("a point in each {STEPS}th of the run; all else is complete"),
    }))
}

/// What was run, and how far it can be trusted: of what has no moment, the part that a reader of the rest needs.
fn about(export: &TraceExport<'_>) -> serde_json::Value {
    let (trace, run) = (export.trace, &export.trace.run);
    json!({
        "source": export.source,
        "command": Names::new(trace).command(),
        "started": run.started,
        "kernel": run.kernel,
        "processors": run.processors,
        "readiness": run.readiness,
        "ready_us": run.ready_at.map(|at| record::microseconds(at.0)),
        "state": run.state,
        "layers": run.layers,
        "pages": run.pages,
        "lost_events": run.lost_events,
        "complete": run.complete,
        "notes": notes(trace),
        "events": trace.events.len(),
        "lookups": trace.lookups.len(),
        "phases": trace.phases.len(),
    })
}

struct OneTrace<'a> {
    names: Names<'a>,
    trace: &'a Trace,
    tracks: Tracks,
}

impl OneTrace<'_> {
    fn write(&self, source: Option<&str>, records: &mut Records<'_>) -> io::Result<()> {
        self.tracks.name(&self.names, source, records)?;
        self.ready(records)?;
        slices::write(&self.names, &self.tracks, records)?;
        self.loads(records)?;
        for event in &self.trace.events {
            self.event(event, records)?;
        }
        self.lookups(records)?;
        self.counters(records)
    }

    /// A line through all tracks.
    fn ready(&self, records: &mut Records<'_>) -> io::Result<()> {
        let Some(at) = self.trace.run.ready_at else { return Ok(()) };
        let first = self.tracks.main_thread(ProcessId(0));
        let arguments = Arguments { readiness: Some(&self.trace.run.readiness), ..Arguments::default() };
        records.write(&Record { scope: Some("g"), arguments, ..Record::instant("ready", "start", at.0, first) })
    }

    fn loads(&self, records: &mut Records<'_>) -> io::Result<()> {
        for load in &self.trace.loads {
            let name = format!("mapped {}", self.names.file_name(Some(load.file)));
            let path = self.names.path(Some(load.file));
            let arguments =
                Arguments { file: Some(&path), load_bias: Some(format!("{:#x}", load.bias)), ..Arguments::default() };
            let track = self.tracks.of_kind(Some(load.process), Kind::Mapped);
            records.write(&Record { arguments, ..Record::instant(&name, "map", load.at.0, track) })?;
        }
        Ok(())
    }

    fn event(&self, event: &Event, records: &mut Records<'_>) -> io::Result<()> {
        let process = self.trace.process_of(event);
        let thread = self.trace.thread(event.thread).map(|thread| thread.number);
        let (path, file_name) = (self.names.path(event.file), self.names.file_name(event.file));
        let (section, symbol) = (self.names.section(event), self.names.symbol(event));
        let code = event.code.map(|code| self.names.code(code));
        let mut arguments = Arguments {
            file: Some(&path),
            page: Some(event.page),
            pages: (event.pages != 1).then_some(event.pages),
            section,
            symbol,
            thread,
            ..Arguments::default()
        };
        let in_place = || match section {
            Some(section) => format!("{section} {file_name}"),
            None => file_name.to_string(),
        };
        let bytes = Some(u64::from(event.pages).saturating_mul(PAGE_SIZE));
        let (name, category, track) = match event.kind {
            EventKind::Function => {
                arguments.address = event.code.map(|code| format!("{:#x}", code.address));
                let name = code.as_ref().map_or_else(in_place, ToString::to_string);
                (name, "function", self.tracks.of_thread(event.thread))
            }
            EventKind::Touch(touch) => {
                arguments.access = access(event);
                arguments.by_kernel = touch.by_kernel;
                arguments.zero_filled = touch.zero_filled;
                arguments.again = !touch.first_of_run;
                arguments.by = code.as_deref();
                let kind = if touch.major { Kind::Waited } else { Kind::Touches };
                let category = if touch.major { "major touch" } else { "touch" };
                (in_place(), category, self.tracks.of_kind(process, kind))
            }
            EventKind::Read => {
                arguments.bytes = bytes;
                (file_name.to_string(), "read", self.tracks.of_kind(process, Kind::Reads))
            }
            EventKind::Fill(cause) => {
                arguments.bytes = bytes;
                arguments.cause = Some(cause.name());
                (in_place(), "fill", self.tracks.of_kind(process, Kind::Fills))
            }
        };
        records.write(&Record { arguments, ..Record::instant(&name, category, event.at.0, track) })
    }

    fn lookups(&self, records: &mut Records<'_>) -> io::Result<()> {
        for lookup in &self.trace.lookups {
            let name = lookup.path.to_string_lossy();
            let means = lookup.file.map(|file| self.names.path(Some(file))).filter(|means| *means != name);
            let arguments =
                Arguments { asked: Some(lookup.kind.name()), file: means.as_deref(), ..Arguments::default() };
            let (kind, category) = match lookup.kind {
                _ if lookup.failed => (Kind::NotFound, "failed lookup"),
                LookupKind::List => (Kind::Lookups, "list"),
                LookupKind::Open | LookupKind::Ask => (Kind::Lookups, "lookup"),
            };
            let track = self.tracks.of_kind(lookup.process, kind);
            records.write(&Record { arguments, ..Record::instant(&name, category, lookup.at.0, track) })?;
        }
        Ok(())
    }

    fn counters(&self, records: &mut Records<'_>) -> io::Result<()> {
        for ((process, sum), points) in counters(self.trace) {
            let track = self.tracks.main_thread(process);
            for point in points {
                let arguments = Arguments { bytes: Some(point.value), ..Arguments::default() };
                records.write(&Record {
                    phase: "C",
                    scope: None,
                    arguments,
                    ..Record::instant(sum.name(), "sum", point.at, track)
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
