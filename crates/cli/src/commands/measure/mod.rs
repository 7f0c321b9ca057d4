//! `coldstart measure`: find what the program reads, bring the caches into a state, start it, and say how long it took.

mod progress;
pub(crate) mod report;

use std::path::PathBuf;

use anyhow::Context;
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasurePlan, Measurement, StartState, may_start_cold, measure};
use coldstart_profile::measurement::Warning;
use coldstart_profile::{FileKind, WorkingSet};
use coldstart_trace::record_working_set;

use crate::args::measure::{MeasureArgs, StateChoice};
use crate::commands::launching::{command_line, launch_options};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::{self, json};

pub(crate) use progress::Progress;

pub(crate) fn run(args: &MeasureArgs) -> Result<Exit, CliError> {
    let options = launch_options(&args.launching)?;
    let mut commands = vec![command_line(&args.program)];
    for text in &args.compare {
        let command = text
            .parse::<CommandLine>()
            .with_context(|| format!("cannot understand `--compare {text}`"))
            .hint(|| "quote it as for a shell: --compare 'PROGRAM \"an argument\"'")?;
        commands.push(command);
    }
    let states = states_of(&args.states);
    let mut candidates = Vec::new();
    for (label, command_line) in labels().zip(commands) {
        candidates.push(candidate(label, command_line, &options)?);
    }
    let mut plan = MeasurePlan::new(candidates, states);
    plan.runs = args.runs;
    let measurement = measure_with_progress(&plan)?;
    if args.json {
        json::print("coldstart.measure/1", &measurement)?;
    } else {
        output::print(&report::report(&measurement))?;
    }
    Ok(exit_of(&measurement))
}

/// Measures, with a progress bar on a terminal.
pub(crate) fn measure_with_progress(plan: &MeasurePlan) -> Result<Measurement, CliError> {
    let labels = plan.commands.iter().map(|command| command.label.clone()).collect();
    Ok(measure(plan, &mut Progress::new(labels))?)
}

/// A command with the files that one start of it was seen to read.
pub(crate) fn candidate(
    label: String,
    command_line: CommandLine,
    options: &LaunchOptions,
) -> Result<Candidate, CliError> {
    let recording = record_working_set(&command_line, options)?;
    let files = files_of(&recording.working_set);
    Ok(Candidate { label, command_line, launch: options.clone(), files })
}

/// The regular files of a working set.
pub(crate) fn files_of(working_set: &WorkingSet) -> Vec<PathBuf> {
    let regular = working_set.files.iter().filter(|file| file.kind != FileKind::BlockDevice);
    regular.map(|file| file.path.clone()).collect()
}

/// What stands for cold here: everything dropped where that is allowed, else the program's own files evicted.
pub(crate) fn coldest_state() -> StartState {
    if may_start_cold() {
        return StartState::Cold;
    }
    output::note("without root the machine's caches cannot be dropped: `selective` stands in for `cold`");
    StartState::Selective
}

fn states_of(choices: &[StateChoice]) -> Vec<StartState> {
    if choices.is_empty() {
        return vec![coldest_state(), StartState::Hot];
    }
    let state = |choice: &StateChoice| match choice {
        StateChoice::Cold => StartState::Cold,
        StateChoice::Selective => StartState::Selective,
        StateChoice::Hot => StartState::Hot,
    };
    choices.iter().map(state).collect()
}

/// A, B, ..., Z, then numbers.
fn labels() -> impl Iterator<Item = String> {
    ('A'..='Z').map(String::from).chain((27..).map(|number: u32| number.to_string()))
}

/// A command without any figures is a no: it never became ready, or never from the state asked for.
fn exit_of(measurement: &Measurement) -> Exit {
    let is_empty = measurement.summaries.iter().any(|summary| summary.counted == 0);
    let gave_up =
        measurement.warnings.iter().any(|warning| matches!(warning, Warning::FailedRuns { gave_up: true, .. }));
    if is_empty || gave_up { Exit::No } else { Exit::Done }
}
