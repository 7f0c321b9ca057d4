//! JSON in the Firefox profiler's processed format.
//!
//! A profile of markers, without samples: a trace says what happened first, not where time was spent, and a call tree made of it
//! would be read as time. Phases are intervals, all else instants, on the thread that did it; the code that did it is the
//! marker's stack, whose functions carry their names, so that no symbol server is needed. Writing is the work of the crate that
//! `samply` uses; the profiler brings profiles of that version up to its own.

mod libraries;
mod markers;
mod threads;

use std::io::{self, Write};
use std::time::Duration;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{Event, EventKind, Phase, ProcessId, Trace};
use fxprof_processed_profile::{
    GraphColor, Marker, MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StringHandle, ThreadHandle,
    Timestamp,
};

use super::counting::{Sum, counters};
use super::names::{Names, access};
use super::{Exported, TraceExport};
use crate::mark::MarkedProfile;
use libraries::Libraries;
use markers::{Kinds, LookupMarker, PageMarker, PhaseMarker, ReadyMarker};
use threads::Threads;

/// A category that the profiler does not know: "Bandwidth" would be taken for network, and its carbon dioxide counted.
const COUNTERS: &str = "Pages";

pub(super) fn write(traces: &[TraceExport<'_>], out: &mut dyn Write) -> io::Result<Exported> {
    let commands: Vec<String> = traces.iter().map(|export| Names::new(export.trace).command()).collect();
    let run = traces.first().map(|export| &export.trace.run);
    let started = run.and_then(|run| u64::try_from(run.started).ok()).unwrap_or_default();
    let reference = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::from_secs(started));
    // No sample is taken; the profiler wants to know how often all the same.
    let mut profile = Profile::new(&commands.join(" and "), reference, SamplingInterval::from_millis(1));
    if let Some(run) = run {
        profile.set_os_name(&format!("Linux {}", run.kernel));
    }
    profile.set_symbolicated(true);
    let kinds = Kinds::new(&mut profile);
    let mut exported = Exported::default();
    for export in traces {
        let source = (traces.len() > 1).then_some(export.source);
        let names = Names::new(export.trace);
        let threads = Threads::new(&names, source, &mut profile);
        let libraries = Libraries::new(&names, &mut profile);
        let mut one =
            OneTrace { trace: export.trace, names, threads, libraries, kinds, profile: &mut profile, records: 0 };
        one.add();
        exported.records = exported.records.saturating_add(one.records);
    }
    serde_json::to_writer(out, &MarkedProfile::new(&profile))?;
    Ok(exported)
}

struct OneTrace<'a, 'p> {
    trace: &'a Trace,
    names: Names<'a>,
    threads: Threads,
    libraries: Libraries,
    kinds: Kinds,
    profile: &'p mut Profile,
    records: u64,
}

impl OneTrace<'_, '_> {
    fn add(&mut self) {
        self.ready();
        for phase in &self.trace.phases {
            self.phase(phase);
        }
        self.loads();
        for event in &self.trace.events {
            self.event(event);
        }
        self.lookups();
        self.counters();
    }

    fn instant<T: Marker>(
        &mut self,
        thread: ThreadHandle,
        at: u64,
        marker: T,
    ) -> fxprof_processed_profile::MarkerHandle {
        self.records = self.records.saturating_add(1);
        self.profile.add_marker(thread, MarkerTiming::Instant(Timestamp::from_nanos_since_reference(at)), marker)
    }

    fn text(&mut self, text: &str) -> StringHandle {
        self.profile.intern_string(text)
    }

    fn ready(&mut self) {
        let Some(at) = self.trace.run.ready_at else { return };
        let readiness = self.text(&self.trace.run.readiness);
        let marker = ReadyMarker { name: self.kinds.ready, category: self.kinds.phases, readiness };
        let thread = self.threads.main(ProcessId(0));
        self.instant(thread, at.0, marker);
    }

    fn phase(&mut self, phase: &Phase) {
        let path = phase.file.map_or("".into(), |file| self.names.path(Some(file)));
        let code = phase.file.zip(phase.address);
        let code = code.map(|(file, address)| coldstart_profile::trace::CodeAddress { file, address });
        let function = code.map_or("".into(), |code| self.names.code(code));
        let marker = PhaseMarker {
            name: self.text(phase.kind.words()),
            category: self.kinds.phases,
            object: self.text(&path),
            function: self.text(&function),
            known: self.text(phase.known.name()),
        };
        let thread = self.threads.main(phase.process);
        let [begin, end] = [phase.begin.0, phase.end.0.max(phase.begin.0)].map(Timestamp::from_nanos_since_reference);
        self.records = self.records.saturating_add(1);
        self.profile.add_marker(thread, MarkerTiming::Interval(begin, end), marker);
    }

    fn loads(&mut self) {
        for load in &self.trace.loads {
            let path = self.names.path(Some(load.file));
            let marker = PageMarker {
                name: self.kinds.mapped,
                category: self.kinds.files,
                file: self.text(&path),
                section: self.kinds.nothing,
                symbol: self.kinds.nothing,
                page: f64::NAN,
                bytes: f64::NAN,
                how: self.text(&format!("load bias {:#x}", load.bias)),
            };
            let thread = self.threads.main(load.process);
            self.instant(thread, load.at.0, marker);
        }
    }

    fn event(&mut self, event: &Event) {
        let (name, category) = self.kinds.of(event.kind);
        let path = self.names.path(event.file);
        let how = how(event);
        let bytes = u64::from(event.pages).saturating_mul(PAGE_SIZE) as f64;
        let marker = PageMarker {
            name,
            category,
            file: self.text(&path),
            section: self.text(self.names.section(event).unwrap_or_default()),
            symbol: self.text(self.names.symbol(event).unwrap_or_default()),
            page: event.page as f64,
            bytes: if event.kind == EventKind::Function { f64::NAN } else { bytes },
            how: self.text(&how),
        };
        let thread = self.threads.of(event.thread);
        let handle = self.instant(thread, event.at.0, marker);
        if let Some(code) = event.code {
            let frame = self.libraries.frame(code, &self.names, self.profile);
            let stack = self.profile.intern_stack_frames(thread, std::iter::once(frame));
            self.profile.set_marker_stack(thread, handle, stack);
        }
    }

    fn lookups(&mut self) {
        for lookup in &self.trace.lookups {
            let path = lookup.path.to_string_lossy();
            let means = lookup.file.map_or("".into(), |file| self.names.path(Some(file)));
            let marker = LookupMarker {
                name: if lookup.failed { self.kinds.not_found } else { self.kinds.looked_up },
                category: self.kinds.lookups,
                path: self.text(&path),
                means: self.text(&means),
                asked: self.text(lookup.kind.name()),
            };
            let thread = lookup.process.map_or(self.threads.nobody(), |process| self.threads.main(process));
            self.instant(thread, lookup.at.0, marker);
        }
    }

    fn counters(&mut self) {
        for ((process, sum), points) in counters(self.trace) {
            let name = format!("{} (bytes)", sum.name());
            let color = match sum {
                Sum::Touched => GraphColor::Orange,
                Sum::Waited => GraphColor::Red,
                Sum::FromDisk => GraphColor::Blue,
                Sum::Read => GraphColor::Green,
            };
            let Some(process) = self.threads.process(process) else { continue };
            let counter = self.profile.add_counter(process, &name, COUNTERS, &name);
            self.profile.set_counter_color(counter, color);
            let mut before = 0;
            for point in points {
                let at = Timestamp::from_nanos_since_reference(point.at);
                self.profile.add_counter_sample(counter, at, point.value.saturating_sub(before) as f64, 1);
                before = point.value;
                self.records = self.records.saturating_add(1);
            }
        }
    }
}

/// What is special about an event, in words.
fn how(event: &Event) -> String {
    let EventKind::Touch(touch) = event.kind else {
        return match event.kind {
            EventKind::Fill(cause) => cause.name().to_owned(),
            _ => String::new(),
        };
    };
    let mut words = vec![access(event).unwrap_or_default()];
    let rest = [
        (touch.by_kernel, "by the kernel"),
        (touch.zero_filled, "zero-filled, page of the address"),
        (!touch.first_of_run, "touched before"),
    ];
    words.extend(rest.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word));
    words.join("; ")
}

#[cfg(test)]
mod tests;
