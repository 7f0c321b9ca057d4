//! `prefetch`: record one start of a program, make a plan of its reads, and replay it.

mod contents;
mod exact;
mod merge;
mod recorder;
mod replay;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::CommandLine;
use coldstart_output::OutputTarget;
use coldstart_prefetch::Strategy;
use coldstart_profile::plan::{MOST_BYTES, PlanView, PrefetchPlan};
use coldstart_profile::{JsonPath, PageSource, printable};
use serde::Serialize;

use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::launching::{Launching, inputs_of};
use crate::observer::Observer;
use crate::reading::read;
use crate::writing::{try_out, write_file};

pub use contents::{PlanContents, PlanDevice, PlanFile, PlanOutcome, kind_name, stale_reason};
pub(crate) use exact::{BothPlans, Refusal, UsedPages, trace_with_pages, used_by_trace};
pub use exact::{ChoiceSummary, ForecastSummary, why};
pub use merge::{FileVersions, MergeOptions, MergeOutcome, merge};
pub(crate) use recorder::now;
pub use recorder::{MakeCold, PlanRecorder, RecordedPlan};
pub use replay::{ReplayOutcome, replay};

/// The source of a plan, and its output.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Where the plan comes from.
    pub source: PlanSource,
    /// When to read; `None` for the predicted faster way.
    pub strategy: Option<Strategy>,
    /// The plan's file; `None` for `PROGRAM.prefetch` in the current directory.
    pub output: Option<PathBuf>,
    /// Replace a file even if it is not a plan.
    pub force: bool,
}

/// The source of a plan.
#[derive(Clone, Debug)]
pub enum PlanSource {
    /// A start of a program.
    Start {
        /// The program.
        command: CommandLine,
        /// How it is started and waited for.
        launching: Launching,
        /// Make the caches cold first.
        make_cold: bool,
        /// Trace the start, and plan only the used pages if that is predicted to be faster.
        exact: bool,
    },
    /// An existing trace. No program is started.
    Trace(PathBuf),
}

/// Makes a plan and writes it. Notes about the recording go to the observer and into the outcome.
///
/// # Errors
/// If the program cannot be started or watched, never becomes ready, the trace lacks a required layer, or the plan cannot be
/// written.
pub fn record(options: &RecordOptions, observer: &dyn Observer) -> Result<RecordOutcome, AppError> {
    let named = match (&options.output, &options.source) {
        (Some(path), _) => Some(path.clone()),
        (None, PlanSource::Start { command, .. }) => Some(default_plan_path(command)),
        // The program's name is in the trace.
        (None, PlanSource::Trace(_)) => None,
    };
    let early = named.map(|path| options.place(&path)).transpose()?;
    let recorded = options.recorded()?;
    let place = match early {
        Some(place) => place,
        None => options.place(&default_path(recorded.plan.command.first()))?,
    };
    write_plan(&place, &recorded.plan)?;
    for note in &recorded.notes {
        observer.note(note);
    }
    Ok(RecordOutcome::new(place.path(), recorded))
}

impl RecordOptions {
    /// The plan's output, checked to be writable.
    fn place(&self, path: &Path) -> Result<OutputTarget, AppError> {
        let inputs = match &self.source {
            PlanSource::Start { command, launching, .. } => inputs_of([command], launching.input.as_deref()),
            PlanSource::Trace(trace) => inputs_of([], None).with(format!("the trace `{}`", printable(trace)), trace),
        };
        let place = OutputTarget::new(path, kinds::PLAN, self.force)?.not_over(inputs);
        try_out([&place])?;
        Ok(place)
    }

    fn recorded(&self) -> Result<RecordedPlan, AppError> {
        match &self.source {
            PlanSource::Trace(trace) => exact::record_from(trace, self.strategy),
            PlanSource::Start { command, launching, make_cold, exact } => {
                let options = launching.options()?;
                let make_cold = MakeCold::from(*make_cold);
                let recorder =
                    PlanRecorder { command, options: &options, strategy: self.strategy, make_cold, without: None };
                record_as(&recorder, *exact)
            }
        }
    }
}

/// Records as the option `--exact` says.
pub(crate) fn record_as(recorder: &PlanRecorder<'_>, exact: bool) -> Result<RecordedPlan, AppError> {
    if exact { exact::record(recorder) } else { recorder.record() }
}

/// The default output: `PROGRAM.prefetch` in the current directory.
pub fn default_plan_path(command: &CommandLine) -> PathBuf {
    default_path(Some(&command.program))
}

fn default_path(program: Option<&OsString>) -> PathBuf {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or(OsStr::new("program"));
    let mut name = name.to_os_string();
    name.push(".prefetch");
    PathBuf::from(name)
}

/// Writes a temporary file and renames it: a program that starts meanwhile sees the complete old or new plan.
///
/// # Errors
/// If the plan is too large for its format, or cannot be written.
pub fn write_plan(place: &OutputTarget, plan: &PrefetchPlan) -> Result<(), AppError> {
    let bytes = plan.to_bytes().with_context(|| format!("cannot write the plan `{}`", printable(place.path())))?;
    write_file(place, &bytes)
}

/// Reads a plan's file.
///
/// # Errors
/// If it cannot be read, or exceeds the size limit.
pub fn read_plan(path: &Path) -> Result<Vec<u8>, AppError> {
    read("the plan ", path, MOST_BYTES)
}

/// Checks a plan's bytes; `path` is for error messages.
///
/// # Errors
/// If they are not a plan, or a damaged one.
pub fn view_plan<'bytes>(path: &Path, bytes: &'bytes [u8]) -> Result<PlanView<'bytes>, AppError> {
    PlanView::read(bytes)
        .with_context(|| format!("cannot use `{}`", printable(path)))
        .hint(|| "record it again with `coldstart prefetch record -- PROGRAM`")
}

/// A written plan.
#[derive(Clone, Debug, Serialize)]
pub struct RecordOutcome {
    /// Its file.
    #[serde(skip)]
    pub path: PathBuf,
    /// The plan and its origin.
    #[serde(skip)]
    pub recorded: RecordedPlan,
    #[serde(flatten)]
    plan: JsonPath,
    /// "blocking", before the program starts, or "concurrent", in parallel with it.
    pub strategy: &'static str,
    /// Bytes that it reads.
    pub bytes: u64,
    /// Reads that it makes.
    pub reads: u64,
    /// Files of the working set.
    pub files: usize,
    /// Number of names to look up.
    pub names: usize,
    /// Duration of the recorded start.
    pub recorded_start_seconds: f64,
    /// Duration of a hot start; 0 if unknown.
    pub hot_start_seconds: f64,
    /// Predicted duration of a cold start with the plan; 0 if unknown.
    pub predicted_start_seconds: f64,
    /// Granularity of the known order of use: "page" or "file".
    pub ordered_by: &'static str,
    /// With `--exact`: the two plans compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceSummary>,
    /// Notes about the recording.
    pub notes: Vec<String>,
}

impl RecordOutcome {
    fn new(path: &Path, recorded: RecordedPlan) -> Self {
        let plan = &recorded.plan;
        let pages = plan.steps.iter().filter_map(|step| step.pages);
        Self {
            path: path.to_owned(),
            plan: JsonPath::new(path),
            strategy: plan.summary.strategy_name(),
            bytes: pages.clone().map(|pages| pages.length()).sum(),
            reads: pages.count() as u64,
            files: recorded.working_set.files.len(),
            names: recorded.working_set.names.len(),
            recorded_start_seconds: plan.summary.recorded_start.as_secs_f64(),
            hot_start_seconds: plan.summary.hot_start.as_secs_f64(),
            predicted_start_seconds: plan.summary.predicted_start.as_secs_f64(),
            ordered_by: match recorded.working_set.source {
                PageSource::PageCacheFills | PageSource::Touched => "page",
                PageSource::Residency => "file",
            },
            choice: recorded.choice.as_ref().map(ChoiceSummary::new),
            notes: recorded.notes.clone(),
            recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coldstart_launch::Readiness;

    use super::*;
    use crate::launching::Waiting;
    use crate::observer::Silent;

    #[test]
    fn a_start_becomes_a_plan_that_can_be_shown_and_replayed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("true.prefetch");
        let waiting =
            Waiting { ready: Readiness::Exit, time_limit: Duration::from_secs(60), grace: Duration::from_secs(1) };
        let source = PlanSource::Start {
            command: CommandLine { program: "true".into(), arguments: Vec::new() },
            launching: Launching { waiting, input: None, show_output: false },
            make_cold: false,
            exact: false,
        };
        let options =
            RecordOptions { source, strategy: Some(Strategy::Blocking), output: Some(path.clone()), force: false };
        let outcome = record(&options, &Silent).unwrap();
        assert_eq!((outcome.path.as_path(), outcome.strategy), (path.as_path(), "blocking"));
        assert!(outcome.files > 0 && outcome.bytes > 0, "{outcome:?}");
        let bytes = read_plan(&path).unwrap();
        let plan = view_plan(&path, &bytes).unwrap();
        let shown = PlanContents::gather(&plan).outcome(&plan);
        let json = serde_json::to_value(shown).unwrap();
        assert_eq!((&json["strategy"], &json["bytes"]), (&"blocking".into(), &outcome.bytes.into()));
        assert!(replay(&path).unwrap().steps > 0);
    }

    #[test]
    fn what_is_no_trace_makes_no_plan() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("a.coldtrace");
        coldstart_tracefile::write_trace(&trace, &coldstart_profile::trace::Trace::default()).unwrap();
        let output = folder.path().join("a.prefetch");
        let options = RecordOptions {
            source: PlanSource::Trace(trace),
            strategy: None,
            output: Some(output.clone()),
            force: false,
        };
        let error = record(&options, &Silent).unwrap_err();
        assert!(error.sentence().contains("was recorded without") && !output.exists(), "{}", error.sentence());
        assert_eq!(default_path(None), Path::new("program.prefetch"));
    }
}
