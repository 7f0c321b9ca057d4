//! Figures of names, programs, and the recording itself.

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;

use super::{FigureGroup, Group, Known, Unit};

/// Questions about names.
pub(super) fn names(figures: &Figures, known: &Known) -> FigureGroup {
    let mut group = Group::new("Names", known.note(""));
    let counts = &figures.counts;
    let if_known = |count: u64| known.files.names.then_some(count);
    group.add("names.lookups", "lookups", Unit::Count, if_known(counts.lookups));
    group.add("names.failed", "lookups of what is not there", Unit::Count, if_known(counts.failed_lookups));
    group.add("names.listed", "directories listed", Unit::Count, if_known(counts.listed_directories));
    group.finish()
}

/// Processes and what they load.
pub(super) fn programs(figures: &Figures, known: &Known) -> FigureGroup {
    let mut group = Group::new("Programs and objects", String::new());
    let counts = &figures.counts;
    let of_phases = |count: u64| known.phases.then_some(count);
    group.add("count.processes", "processes", Unit::Count, Some(counts.processes));
    group.add("count.executed", "programs executed", Unit::Count, Some(counts.executed));
    group.add("count.threads", "threads", Unit::Count, Some(counts.threads));
    group.add("count.files", "files", Unit::Count, Some(counts.files));
    group.add("count.objects", "ELF objects", Unit::Count, Some(counts.objects));
    group.add("count.initialisers", "initialisers seen one by one", Unit::Count, of_phases(counts.initialisers));
    group.add("count.dlopens", "calls of dlopen that mapped something", Unit::Count, of_phases(counts.dlopens));
    group.neutral(
        "count.dlcloses",
        "calls of dlclose that unmapped something",
        Unit::Count,
        of_phases(counts.dlcloses),
    );
    group.finish()
}

/// What the recording did to the start.
pub(super) fn recording(trace: &Trace) -> FigureGroup {
    let note = "What the recording did to the start: the time for which threads stood still is the least that it took.";
    let mut group = Group::new("The recording", note.to_owned());
    let run = &trace.run;
    group.neutral("recording.stops", "stops of threads", Unit::Count, Some(run.stops));
    group.neutral("recording.stopped", "threads stood still for", Unit::Nanoseconds, Some(run.stopped));
    group.add("recording.lost", "events lost", Unit::Count, Some(run.lost_events));
    group.finish()
}
