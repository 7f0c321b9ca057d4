//! `coldstart prefetch record`: from one cold start to a plan.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use coldstart_app::kinds;
use coldstart_app::launching::inputs_of;
use coldstart_app::writing::{try_out, write_file};
use coldstart_launch::{CommandLine, LaunchOptions, Launched, launch};
use coldstart_output::OutputPlace;
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_prefetch::{Choice, PlanInput, Strategy, plan_prefetch, probe_device};
use coldstart_profile::plan::{PlannedDevice, PrefetchPlan};
use coldstart_profile::{FileKind, WorkingSet};
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};
use coldstart_trace::{Recording, RecordingNotes, record_working_set};
use serde::Serialize;

use super::exact::{self, ChoiceJson};
use crate::args::launching::ProgramArgs;
use crate::args::prefetch::{PlanningArgs, RecordArgs, StrategyChoice};
use crate::commands::launching::{command_line, launching};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{counted, counted_are, plain};
use crate::output::{self, command, json, size};

pub(super) fn run(args: &RecordArgs) -> Result<Exit, CliError> {
    // With `--from`, the program's name stands in the trace.
    let early = args.output.clone().or_else(|| Some(default_path(Some(args.words.first()?))));
    let early = early.map(|path| place(args, &path)).transpose()?;
    let recorded = recorded(args)?;
    let place = match early {
        Some(place) => place,
        None => place(args, &default_path(recorded.plan.command.first()))?,
    };
    let output = place.path().to_owned();
    write_plan(&place, &recorded.plan)?;
    for note in &recorded.notes {
        output::note(note);
    }
    let summary = RecordJson::new(&output, &recorded);
    if args.json {
        json::print("coldstart.prefetch-record/1", &summary)?;
    } else {
        output::print(&in_words(&output, &summary, &recorded))?;
    }
    Ok(Exit::Done)
}

/// The plan's place, tried out.
fn place(args: &RecordArgs, path: &Path) -> Result<OutputPlace, CliError> {
    let command = command_line(&ProgramArgs { words: args.words.clone() });
    let mut inputs = inputs_of([&command], args.launching.input.as_deref());
    if let Some(trace) = &args.from {
        inputs.add(format!("the trace `{}`", printable(trace)), trace);
    }
    let place = OutputPlace::new(path, kinds::PLAN, args.force.force)?.not_over(inputs);
    try_out([&place])?;
    Ok(place)
}

fn recorded(args: &RecordArgs) -> Result<RecordedPlan, CliError> {
    if let Some(trace) = &args.from {
        return exact::record_from(trace, &args.planning);
    }
    let command = command_line(&ProgramArgs { words: args.words.clone() });
    let options = launching(&args.launching).options()?;
    let recorder =
        PlanRecorder { command: &command, options: &options, planning: &args.planning, make_cold: !args.as_is };
    if args.exact { exact::record(&recorder) } else { recorder.record() }
}

/// The plan's place unless another is asked for: in the working directory, under the program's name.
pub(crate) fn default_plan_path(command: &CommandLine) -> PathBuf {
    default_path(Some(&command.program))
}

fn default_path(program: Option<&OsString>) -> PathBuf {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or(OsStr::new("program"));
    let mut name = name.to_os_string();
    name.push(".prefetch");
    PathBuf::from(name)
}

/// Writes beside the target and renames: a program that starts meanwhile sees the old plan or the new one, whole.
pub(crate) fn write_plan(place: &OutputPlace, plan: &PrefetchPlan) -> Result<(), CliError> {
    let bytes = plan.to_bytes().with_context(|| format!("cannot write the plan `{}`", printable(place.path())))?;
    write_file(place, &bytes)
}

/// How to record a plan.
pub(crate) struct PlanRecorder<'args> {
    pub(crate) command: &'args CommandLine,
    pub(crate) options: &'args LaunchOptions,
    pub(crate) planning: &'args PlanningArgs,
    /// Make the caches cold before the start that is recorded.
    pub(crate) make_cold: bool,
}

/// A plan and where it comes from.
pub(crate) struct RecordedPlan {
    pub(crate) plan: PrefetchPlan,
    pub(crate) working_set: WorkingSet,
    /// The two plans that it was chosen from, where there were two.
    pub(crate) choice: Option<Choice>,
    /// What the user should know of how it was recorded, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl PlanRecorder<'_> {
    /// Records a start, measures the device and a hot start, and plans.
    pub(crate) fn record(&self) -> Result<RecordedPlan, CliError> {
        let mut notes = Vec::new();
        let recording = if self.make_cold { self.record_cold(&mut notes)? } else { self.record_once()? };
        notes.extend(notes_in_words(&recording.notes));
        let hot_start = self.hot_start()?;
        let planner = Planner { planning: self.planning, hot_start };
        let device = planner.device_of(&recording.working_set, &mut notes);
        let plan = planner.plan(&recording.working_set, device);
        Ok(RecordedPlan { plan, working_set: recording.working_set, choice: None, notes })
    }

    /// Makes the caches cold by the best means there is, and records.
    fn record_cold(&self, notes: &mut Vec<String>) -> Result<Recording, CliError> {
        if may_drop_caches() {
            drop_caches().context("cannot drop the caches")?;
            return self.record_once();
        }
        notes.push(
            "without root the system's caches cannot be dropped: the program's own files were evicted instead, and \
             the order of pages inside a file is not known"
                .to_owned(),
        );
        let learned = self.record_once()?;
        for file in learned.working_set.files.iter().filter(|file| file.kind != FileKind::BlockDevice) {
            // What stays in memory is missing from the plan and costs nothing at this start.
            let _ = evict(&file.path, EvictOptions { write_first: false });
        }
        self.record_once()
    }

    fn record_once(&self) -> Result<Recording, CliError> {
        let recording = record_working_set(self.command, self.options)?;
        self.demand_readiness(&recording.launched)?;
        Ok(recording)
    }

    /// The better of two starts right after another: what remains when nothing is read from the disk. A start that fails
    /// between others that do not is made again.
    pub(super) fn hot_start(&self) -> Result<Option<Duration>, CliError> {
        let mut best = None;
        let (mut succeeded, mut failed) = (0, 0);
        while succeeded < HOT_STARTS {
            let launched = launch(self.command, self.options, None, &mut || ())?;
            if launched.succeeded() {
                succeeded += 1;
                best = launched.ready_after.into_iter().chain(best).min();
                continue;
            }
            failed += 1;
            if failed > HOT_STARTS {
                self.demand_readiness(&launched)?;
            }
        }
        Ok(best)
    }

    pub(super) fn demand_readiness(&self, launched: &Launched) -> Result<(), CliError> {
        if launched.succeeded() {
            return Ok(());
        }
        Err(anyhow!("cannot record `{}`: it {}", self.command, launched.end))
            .hint(|| "run it by hand first; --show-output shows what it says, --ready says when it counts as started")
    }
}

/// Hot starts of which the best counts, and as many may fail.
const HOT_STARTS: u32 = 2;

/// From a working set to a plan.
pub(super) struct Planner<'args> {
    pub(super) planning: &'args PlanningArgs,
    pub(super) hot_start: Option<Duration>,
}

impl Planner<'_> {
    pub(super) fn plan(&self, working_set: &WorkingSet, device: PlannedDevice) -> PrefetchPlan {
        plan_prefetch(&PlanInput {
            working_set,
            device,
            hot_start: self.hot_start,
            recorded_at: now(),
            strategy: match self.planning.strategy {
                StrategyChoice::Auto => None,
                StrategyChoice::Blocking => Some(Strategy::Blocking),
                StrategyChoice::Concurrent => Some(Strategy::Concurrent),
            },
        })
    }

    /// Measures the device that holds the largest files; where it cannot be measured, assumes an ordinary SSD and says so.
    pub(super) fn device_of(&self, working_set: &WorkingSet, notes: &mut Vec<String>) -> PlannedDevice {
        let regular = |file: &&coldstart_profile::FileUse| file.kind != FileKind::BlockDevice;
        let paths: Vec<PathBuf> = working_set.files.iter().filter(regular).map(|file| file.path.clone()).collect();
        probe_device(&paths).unwrap_or_else(|error| {
            let error = anyhow::Error::new(error);
            notes.push(format!(
                "the device could not be measured ({}); the plan assumes an ordinary SSD",
                crate::error::sentence(&error)
            ));
            PlannedDevice { latency: Duration::from_micros(100), bandwidth: 500_000_000, parallel: 8, seeks: false }
        })
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

pub(super) fn notes_in_words(notes: &RecordingNotes) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(reason) = &notes.no_fills {
        words.push(format!("{reason}; pages are planned in order of their files' first opening"));
    }
    if notes.lost_events > 0 {
        words.push(format!("{} page-cache events were lost; their pages have no order", notes.lost_events));
    }
    for reason in &notes.no_metadata {
        words.push(format!("metadata blocks are not in the plan: {reason}"));
    }
    if let Some(first) = notes.unknown_files.first() {
        words.push(format!(
            "{} left out, because what is in memory cannot be told; the first: {first}",
            plain(&counted_are(notes.unknown_files.len() as u64, "file"))
        ));
    }
    words
}

#[derive(Serialize)]
struct RecordJson {
    #[serde(flatten)]
    plan: JsonPath,
    strategy: &'static str,
    bytes: u64,
    reads: u64,
    files: usize,
    names: usize,
    recorded_start_seconds: f64,
    hot_start_seconds: f64,
    predicted_start_seconds: f64,
    ordered_by: &'static str,
    /// Of `--exact`: the plans weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<ChoiceJson>,
    notes: Vec<String>,
}

impl RecordJson {
    fn new(path: &Path, recorded: &RecordedPlan) -> Self {
        let plan = &recorded.plan;
        let pages = plan.steps.iter().filter_map(|step| step.pages);
        Self {
            plan: JsonPath::new(path),
            strategy: if plan.summary.is_blocking() { "blocking" } else { "concurrent" },
            bytes: pages.clone().map(|pages| pages.length()).sum(),
            reads: pages.count() as u64,
            files: recorded.working_set.files.len(),
            names: recorded.working_set.names.len(),
            recorded_start_seconds: plan.summary.recorded_start.as_secs_f64(),
            hot_start_seconds: plan.summary.hot_start.as_secs_f64(),
            predicted_start_seconds: plan.summary.predicted_start.as_secs_f64(),
            ordered_by: match recorded.working_set.source {
                coldstart_profile::PageSource::PageCacheFills | coldstart_profile::PageSource::Touched => "page",
                coldstart_profile::PageSource::Residency => "file",
            },
            choice: recorded.choice.as_ref().map(ChoiceJson::new),
            notes: recorded.notes.clone(),
        }
    }
}

fn in_words(path: &Path, summary: &RecordJson, recorded: &RecordedPlan) -> String {
    let with_program = summary.hot_start_seconds > 0.0;
    let choice = recorded.choice.as_ref().map(|choice| exact::in_words(choice, with_program)).unwrap_or_default();
    let when = if recorded.plan.summary.is_blocking() { "before the program starts" } else { "beside the program" };
    let times = if with_program {
        format!(
            "this start took {:.3} s, a hot one {:.3} s; with the plan, read {when}, {:.3} s are predicted",
            summary.recorded_start_seconds, summary.hot_start_seconds, summary.predicted_start_seconds,
        )
    } else {
        let replay = recorded.plan.summary.predicted_replay.as_secs_f64();
        format!(
            "the recorded start took {:.3} s; the plan is read {when}, {replay:.3} s are predicted for that",
            summary.recorded_start_seconds
        )
    };
    let command = &recorded.plan.command;
    let words = [path.as_os_str(), OsStr::new("--")].into_iter().chain(command.iter().map(OsString::as_os_str));
    format!(
        "wrote {}: {} in {} of {}, {}\n\
         {choice}\
         device: {}\n\
         {times}\n\
         start it with: {}\n",
        printable(path),
        size::bytes(summary.bytes),
        plain(&counted(summary.reads, "read")),
        plain(&counted(summary.files as u64, "file")),
        plain(&counted(summary.names as u64, "name")),
        super::show::device_line(&recorded.plan.summary),
        command::of_ours("prefetch run", words),
    )
}
