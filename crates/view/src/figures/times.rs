//! The time of readiness, and what the time was spent on.

use std::path::Path;

use coldstart_profile::trace::figures::{Figures, KindTime};
use coldstart_profile::trace::{PhaseKind, ProcessId, Trace};

use super::{FigureGroup, Group, Known, Unit};

/// Moments of the whole start, and times of all processes together.
pub(super) fn start(trace: &Trace, figures: &Figures, known: &Known) -> FigureGroup {
    let note = "From the launch, with the cost of recording in it. Times of all processes may pass at once.";
    let mut group = Group::new("The start", note.to_owned());
    group.add("time.ready", "until it was ready", Unit::Nanoseconds, trace.run.ready_at.map(|at| at.0));
    group.neutral("time.end", "until its end, or the recording's", Unit::Nanoseconds, Some(trace.run.ended_at.0));
    let sum = |time: fn(&KindTime) -> u64, kinds: &[PhaseKind]| {
        let wanted = figures.times.kinds.iter().filter(|time| kinds.contains(&time.kind));
        known.phases.then(|| wanted.map(time).fold(0, u64::saturating_add))
    };
    let all = [
        ("relocation", "relocation, in all processes", sum(|time| time.own, &[PhaseKind::Relocation])),
        (
            "initialisers",
            "initialisers, in all processes",
            sum(|time| time.own, &[PhaseKind::Initialisers, PhaseKind::Initialiser]),
        ),
        ("dlopen", "dlopen with all that it does, in all processes", sum(|time| time.total, &[PhaseKind::Dlopen])),
    ];
    for (key, label, value) in all {
        group.add(&format!("time.all.{key}"), label, Unit::Nanoseconds, value);
    }
    group.finish()
}

/// Own times of the process that the start is about, by kind of phase.
pub(super) fn phases(trace: &Trace, figures: &Figures, known: &Known) -> FigureGroup {
    let main = figures.main_process();
    let mut group = Group::new("Time by phase", note(trace, main));
    let is_seen = known.phases && figures.times.kinds.iter().any(|time| time.process == main);
    for kind in PhaseKind::ALL {
        let own = figures.times.kinds.iter().find(|time| time.process == main && time.kind == kind);
        let value = is_seen.then(|| own.map_or(0, |time| time.own));
        group.add(&format!("time.phase.{}", kind.name()), words(kind), Unit::Nanoseconds, value);
    }
    group.finish()
}

fn note(trace: &Trace, main: ProcessId) -> String {
    let Some(process) = trace.process(main) else { return String::new() };
    let name = process.program.file_name().map_or(process.program.as_path(), Path::new).to_string_lossy();
    let of = if trace.processes.len() > 1 { ", the process that the start is about" } else { "" };
    format!("Of {name} ({}){of}: without what other phases inside take, so they add up.", process.number)
}

/// Of the time that kinds take themselves.
fn words(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Initialisers => "initialisers, between them",
        PhaseKind::Initialiser => "initialisers",
        other => other.words(),
    }
}
