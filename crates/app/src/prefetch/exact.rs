//! `coldstart prefetch record --exact`: one traced start, two plans of it, and the better one.
//!
//! Not obvious: the plan of the used pages is not always better. It reads less, but on some devices takes as long; then the
//! plan of the cached pages is as fast, and covers more pages that another start may use.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use coldstart_launch::LaunchError;
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_prefetch::{Choice, Forecast, PlannedPages, Strategy, choose_plan};
use coldstart_profile::trace::{FileCategory, Layer, PagesSeen, Run, StartState, Trace};
use coldstart_profile::{WorkingSet, printable};
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};
use coldstart_sys::private_mounts::outside;
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_trace::{
    ExactWorkingSet, TraceAge, TraceError, TracedWorkingSets, traced_working_sets, working_sets_inside,
};
use coldstart_tracefile::TraceFile;
use coldstart_view::numbers::counted;
use serde::Serialize;

use super::recorder::{MakeCold, PlanRecorder, Planner, RecordedPlan, counted_are, notes_in_words};
use crate::error::{AppError, HintExt};

/// The working sets of a traced start, without what the recorder leaves out.
fn working_sets_of(recorder: &PlanRecorder<'_>, trace: &Trace, started: SystemTime) -> TracedWorkingSets {
    let mut sets = working_sets_inside(trace, TraceAge::Fresh(started), recorder.options.mounts.as_deref());
    recorder.leave_out(&mut sets.cached);
    if let Ok(exact) = &mut sets.exact {
        recorder.leave_out(&mut exact.working_set);
    }
    sets
}

/// Traces a start and makes both plans. A program that cannot be traced is recorded without tracing.
pub(super) fn record(recorder: &PlanRecorder<'_>) -> Result<RecordedPlan, AppError> {
    let (trace, started) = match traced(recorder) {
        Ok(traced) => traced,
        Err(Refusal::NotFollowed(reason)) => {
            let mut recorded = recorder.record()?;
            let note = format!("cannot trace the start ({reason}): all pages read into the cache count as used");
            recorded.notes.insert(0, note);
            return Ok(recorded);
        }
        Err(Refusal::Other(error)) => return Err(error),
    };
    let hot_start = recorder.hot_start()?;
    let sets = working_sets_of(recorder, &trace, started);
    Ok(planned(&trace, sets, &Planner { strategy: recorder.strategy, hot_start }))
}

/// Both plans of a program, for a measurement of both.
pub(crate) struct BothPlans {
    /// Of all pages that a start brings into the cache, from a start that was not traced.
    pub(crate) cached: RecordedPlan,
    /// Of the pages that a traced start used, or why there is none: a clause.
    pub(crate) exact: Result<RecordedPlan, String>,
    /// The traced start.
    pub(crate) trace: Option<Trace>,
}

/// Records a start, traces another one, and makes a plan of each.
pub(super) fn record_both(recorder: &PlanRecorder<'_>) -> Result<BothPlans, AppError> {
    let cached = recorder.record()?;
    let (trace, started) = match traced(recorder) {
        Ok(traced) => traced,
        Err(Refusal::NotFollowed(reason)) => return Ok(BothPlans { cached, exact: Err(reason), trace: None }),
        Err(Refusal::Other(error)) => return Err(error),
    };
    let sets = working_sets_of(recorder, &trace, started);
    let hot_start = Some(cached.plan.summary.hot_start).filter(|start| !start.is_zero());
    let planner = Planner { strategy: recorder.strategy, hot_start };
    let exact = sets.exact.map_err(|reason| reason.to_string()).map(|exact| {
        let mut notes = start_notes(&trace.run);
        notes.extend(notes_in_words(&sets.notes));
        notes.extend(exact_notes(&exact, trace.run.pages));
        let plan = planner.plan(&exact.working_set, cached.plan.summary.device);
        RecordedPlan { plan, working_set: exact.working_set, choice: None, notes, privileged: Vec::new() }
    });
    Ok(BothPlans { cached, exact, trace: Some(trace) })
}

/// The pages that a start used.
#[derive(Clone, Debug)]
pub(crate) struct UsedPages {
    /// With the names that it looked up.
    pub(crate) working_set: WorkingSet,
    /// Notes about the recording, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// Traces a start; one that cannot be traced is recorded.
pub(super) fn used(recorder: &PlanRecorder<'_>) -> Result<UsedPages, AppError> {
    match traced(recorder) {
        Ok((trace, started)) => {
            let sets = working_sets_of(recorder, &trace, started);
            Ok(used_of(&trace, sets))
        }
        Err(Refusal::NotFollowed(reason)) => {
            let mut notes =
                vec![format!("cannot trace the start ({reason}): all pages read into the cache count as used")];
            let working_set = recorder.recording(&mut notes)?.working_set;
            Ok(UsedPages { working_set, notes })
        }
        Err(Refusal::Other(error)) => Err(error),
    }
}

/// The pages that the start of an existing trace used.
pub(crate) fn used_by_trace(path: &Path) -> Result<UsedPages, AppError> {
    let (trace, sets) = kept(path)?;
    Ok(used_of(&trace, sets))
}

/// The pages that the start of a trace used, of the files that are as it has them.
pub(super) fn used_by(trace: &Trace) -> UsedPages {
    used_of(trace, traced_working_sets(trace, TraceAge::Kept))
}

fn used_of(trace: &Trace, mut sets: TracedWorkingSets) -> UsedPages {
    let mut notes = start_notes(&trace.run);
    // An image has metadata of its own.
    sets.notes.no_metadata.clear();
    notes.extend(notes_in_words(&sets.notes));
    notes.extend(changed_note(&sets.changed_files));
    match sets.exact {
        Ok(exact) => {
            notes.extend(exact_notes(&exact, trace.run.pages));
            UsedPages { working_set: exact.working_set, notes }
        }
        Err(reason) => {
            notes.push(format!("the used pages are unknown ({reason}): all cached pages count as used"));
            UsedPages { working_set: sets.cached, notes }
        }
    }
}

/// Makes a plan from an existing trace. No program is started, so the duration of a hot start is unknown.
pub(super) fn record_from(path: &Path, strategy: Option<Strategy>) -> Result<RecordedPlan, AppError> {
    let (trace, sets) = kept(path)?;
    let mut recorded = planned(&trace, sets, &Planner { strategy, hot_start: None });
    if trace.run.state == StartState::AsIs {
        let note = "the traced start was not cold (--cold): pages cached before it count only if they were used";
        recorded.notes.push(note.to_owned());
    }
    Ok(recorded)
}

/// A trace file that has pages and files.
pub(crate) fn trace_with_pages(path: &Path) -> Result<Trace, AppError> {
    let trace = TraceFile::open(path)
        .and_then(|file| file.read())
        .with_context(|| format!("cannot use the trace `{}`", printable(path)))?;
    let needed = [Layer::Pages, Layer::Files];
    if let Some(missing) = needed.into_iter().find(|layer| !trace.run.layers.contains(layer)) {
        return Err(anyhow!("the trace `{}` was recorded without {}", printable(path), missing.name()))
            .hint(|| "record it with `coldstart trace --cold --layers pages,files -- PROGRAM`");
    }
    Ok(trace)
}

/// A trace file with the working sets of its start.
fn kept(path: &Path) -> Result<(Trace, TracedWorkingSets), AppError> {
    let trace = trace_with_pages(path)?;
    let sets = traced_working_sets(&trace, TraceAge::Kept);
    if sets.cached.files.is_empty() {
        return Err(anyhow!("all files of the trace `{}` are missing or changed", printable(path)))
            .hint(|| "record a new one with `coldstart trace --cold --layers pages,files -- PROGRAM`");
    }
    Ok((trace, sets))
}

/// From `signal(7)`.
const SIGINT: i32 = 2;

/// Why a start was not traced.
pub(crate) enum Refusal {
    /// The program cannot be followed: a clause.
    NotFollowed(String),
    /// Something broke.
    Other(AppError),
}

impl<E: Into<AppError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Traces one start, optionally from cold caches; also returns the time of the launch.
pub(super) fn traced(recorder: &PlanRecorder<'_>) -> Result<(Trace, SystemTime), Refusal> {
    if recorder.make_cold == MakeCold::Nothing {
        return start(recorder, StartState::AsIs);
    }
    if recorder.make_cold == MakeCold::Everything && may_drop_caches() {
        return start(recorder, StartState::Cold);
    }
    let (learned, _) = start(recorder, StartState::AsIs)?;
    let is_on_disk = |category| !matches!(category, FileCategory::Memory | FileCategory::Metadata);
    for file in learned.files.iter().filter(|file| is_on_disk(file.category)) {
        // Errors are ignored: pages that remain in memory cost neither this start nor the next one.
        let place = outside(recorder.options.mounts.as_deref(), &file.path);
        let _ = evict(place, EvictOptions { write_first: false });
    }
    start(recorder, StartState::FilesEvicted)
}

fn start(recorder: &PlanRecorder<'_>, state: StartState) -> Result<(Trace, SystemTime), Refusal> {
    let options = TraceOptions {
        layers: [Layer::Pages, Layer::Files].into(),
        launch: recorder.options.clone(),
        readiness: recorder.options.readiness.to_string(),
        state,
        functions_everywhere: false,
    };
    let refusal = |error| match error {
        TraceError::NotFollowed { reason } => Refusal::NotFollowed(reason),
        error => Refusal::Other(error.into()),
    };
    let prepared = PreparedTrace::new(recorder.command, &options).map_err(refusal)?;
    if state == StartState::Cold {
        drop_caches().context("cannot drop the caches")?;
    }
    let started = SystemTime::now();
    let traced = prepared.record(&|_, _| false).map_err(refusal)?;
    match &traced.launched {
        Some(launched) => recorder.demand_readiness(launched)?,
        // The trace does not record the signal number.
        None => return Err(TraceError::Launch(LaunchError::Interrupted { signal: SIGINT }).into()),
    }
    Ok((traced.trace, started))
}

fn planned(trace: &Trace, sets: TracedWorkingSets, planner: &Planner) -> RecordedPlan {
    let mut notes = start_notes(&trace.run);
    notes.extend(notes_in_words(&sets.notes));
    notes.extend(changed_note(&sets.changed_files));
    let device = planner.device_of(&sets.cached, &mut notes);
    let cached = planner.plan(&sets.cached, device);
    match sets.exact {
        Ok(exact) => {
            notes.extend(exact_notes(&exact, trace.run.pages));
            let used = planner.plan(&exact.working_set, device);
            let (plan, choice) = choose_plan((cached, &sets.cached), (used, &exact.working_set));
            let working_set = match choice.taken {
                PlannedPages::Used => exact.working_set,
                PlannedPages::Cached => sets.cached,
            };
            RecordedPlan { plan, working_set, choice: Some(choice), notes, privileged: Vec::new() }
        }
        Err(reason) => {
            notes.push(format!("the used pages are unknown ({reason}): all cached pages count as used"));
            RecordedPlan { plan: cached, working_set: sets.cached, choice: None, notes, privileged: Vec::new() }
        }
    }
}

fn changed_note(changed: &[PathBuf]) -> Option<String> {
    let first = changed.first()?;
    Some(format!(
        "{} left out because of changes since the recording; the first: {}",
        counted_are(changed.len() as u64, "file"),
        printable(first)
    ))
}

fn start_notes(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if run.state == StartState::FilesEvicted {
        notes.push(
            "the program's own files were evicted, not the system's caches, which requires root outside of a container and slows others down: the order of pages inside files that it read without mapping them is unknown"
                .to_owned(),
        );
    }
    if run.lost_events > 0 {
        let lost = counted(run.lost_events, "event");
        notes.push(format!("lost {lost} of the traced start: some pages may be missing from the plan"));
    }
    notes
}

fn exact_notes(exact: &ExactWorkingSet, pages: PagesSeen) -> Vec<String> {
    let mut notes = Vec::new();
    if exact.by_fault_around || pages != PagesSeen::Each {
        notes.push(
            "fault-around was on in some processes: at each touch, all cached pages of the 16 around it count as used"
                .to_owned(),
        );
    }
    if exact.cached_files > 0 {
        notes.push(format!(
            "the used pages of {} are unknown: all cached ones count as used",
            counted(exact.cached_files, "file")
        ));
    }
    notes
}

/// The two plans and the choice.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceSummary {
    /// "exact" or "cached".
    pub taken: &'static str,
    /// Why.
    pub why: String,
    /// The plan of the pages that the program used.
    pub exact: ForecastSummary,
    /// The plan of the pages that came into the cache.
    pub cached: ForecastSummary,
}

/// The forecast for a plan.
#[derive(Clone, Debug, Serialize)]
pub struct ForecastSummary {
    /// Number of wanted pages, without gaps that are read over.
    pub used_bytes: u64,
    /// Bytes that it reads.
    pub bytes: u64,
    /// Reads that it makes.
    pub reads: u64,
    /// The whole start if the duration of a hot start is known, otherwise only the replay.
    pub predicted_seconds: f64,
}

impl ChoiceSummary {
    pub(super) fn new(choice: &Choice) -> Self {
        let forecast = |of: &Forecast| ForecastSummary {
            used_bytes: of.used_bytes,
            bytes: of.bytes,
            reads: of.reads,
            predicted_seconds: of.predicted.as_secs_f64(),
        };
        Self {
            taken: match choice.taken {
                PlannedPages::Used => "exact",
                PlannedPages::Cached => "cached",
            },
            why: why(choice),
            exact: forecast(&choice.used),
            cached: forecast(&choice.cached),
        }
    }
}

/// Why one of the two plans was chosen.
pub fn why(choice: &Choice) -> String {
    match (choice.taken, choice.used.takes_as_long_as(&choice.cached)) {
        (PlannedPages::Used, false) => "the used pages alone are predicted to be faster",
        (PlannedPages::Used, true) => "both are predicted to be as fast, and the used pages alone are fewer bytes",
        (PlannedPages::Cached, false) => "the cached pages are predicted to be faster, used or not",
        (PlannedPages::Cached, true) => {
            "both are predicted to be as fast, and the next start may use more than this one"
        }
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_trace::RecordingNotes;

    #[test]
    fn what_a_trace_has_lost_is_missing_and_not_only_without_an_order() {
        let trace = Trace { run: Run { lost_events: 123, ..Run::default() }, ..Trace::default() };
        let sets = traced_working_sets(&trace, TraceAge::Kept);
        assert_eq!(sets.notes, RecordingNotes::default());
        assert_eq!(
            start_notes(&trace.run),
            ["lost 123 events of the traced start: some pages may be missing from the plan"]
        );
        assert!(start_notes(&Run::default()).is_empty());
    }
}
