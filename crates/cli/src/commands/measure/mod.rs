//! `coldstart measure`: find what the program reads, bring the caches into a state, start it, and say how long it took.

mod baseline;
mod date;
mod earlier;
mod export;
mod gate;
mod gate_report;
mod history;
mod identity;
mod page;
mod picture;
mod progress;
pub(crate) mod report;
mod states;
mod store;
mod trend;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use coldstart_app::kinds;
use coldstart_app::launching::inputs_of;
use coldstart_app::writing;
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasureError, MeasurePlan, Measurement, frequency, measure};
use coldstart_output::OutputPlace;
use coldstart_profile::measurement::{KeptMeasurement, Warning};
use coldstart_profile::{FileKind, WorkingSet};
use coldstart_trace::record_working_set;
use serde::Serialize;

use crate::args::launching::ProgramArgs;
use crate::args::measure::{Baseline, MeasureArgs, StateChoice};
use crate::commands::launching::{command_line, launching};
use crate::error::{CliError, Complaints, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, json};

pub(crate) use progress::Progress;
pub(crate) use states::coldest_state;

pub(super) use date::minute;

use gate::Gate;
use states::States;
use store::Store;

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.measure/1";

pub(crate) fn run(args: &MeasureArgs) -> Result<Exit, CliError> {
    if args.keeping.history.is_some() {
        return history::run(args);
    }
    if !args.keeping.import.is_empty() {
        output::print(&store::import(&args.keeping)?)?;
        return Ok(Exit::Done);
    }
    measure_and_compare(args)
}

fn measure_and_compare(args: &MeasureArgs) -> Result<Exit, CliError> {
    let options = launching(&args.launching).options()?;
    let commands = commands(args)?;
    if args.gate.fail_if_slower.is_some() && args.gate.against.is_none() && args.compare.is_empty() {
        return Err(anyhow::anyhow!("--fail-if-slower needs something to compare with"))
            .hint(|| "--against BASELINE compares with an earlier measurement, --compare COMMAND side by side");
    }
    // What may be wrong with the states, the history, the page or the baseline is told now, and not after an hour of measuring.
    let page_place = args.html.as_deref().map(|path| page_place(args, &commands, path)).transpose()?;
    if args.fixed_frequency {
        frequency::check(Path::new(frequency::SYSFS)).map_err(MeasureError::from)?;
    }
    let states = States::chosen(&args.states)?;
    let store = Store::try_out(&args.keeping)?;
    let mut baseline = match &args.gate.against {
        Some(named) => {
            let history = store::to_read(&args.keeping)?;
            let line = commands.first().map(ToString::to_string).unwrap_or_default();
            Some(baseline::find(named, history.as_ref(), &line, &options.readiness.to_string())?)
        }
        None => None,
    };
    let programs = store::programs(commands.iter());
    let mut candidates = Vec::new();
    for (label, command_line) in labels().zip(commands) {
        candidates.push(candidate(label, command_line, &options)?);
    }
    let mut plan = MeasurePlan::new(candidates, states.states);
    plan.saved_state = states.saved;
    plan.runs = args.runs;
    plan.fixed_frequency = args.fixed_frequency;
    let began = SystemTime::now();
    let measurement = measure_with_progress(&plan)?;
    let kept = store::kept(measurement, args.keeping.label.clone(), began, programs);
    let earlier = match (&baseline, args.json || args.export.is_some()) {
        (None, false) => earlier::lines(&store, &kept),
        _ => String::new(),
    };
    let number = store.keep(&kept);
    let gate = match &mut baseline {
        Some(found) => {
            let machine = &kept.measurement.machine;
            let states = gate::states(&kept.measurement);
            let narrowed = found.narrow(machine, &states, args.gate.accept_other_machine);
            Some(narrowed.and_then(|()| gate::against(&kept, found, &args.gate)))
        }
        None if args.gate.fail_if_slower.is_some() => Some(gate::within(&kept.measurement, &args.gate)),
        None => None,
    };
    let answer = gate.as_ref().and_then(|gate| gate.as_ref().ok());
    show(args, page_place.as_ref(), number, &kept, answer, &earlier)?;
    let measured = exit_of(&kept.measurement);
    match gate {
        None => Ok(measured),
        Some(Ok(gate)) => Ok(measured.worse(if gate.is_slower == Some(true) { Exit::No } else { Exit::Done })),
        Some(Err(error)) => {
            let mut complaints = Complaints::default();
            complaints.add(error);
            let broken = complaints.finish();
            // A program that does not start any more is the answer; that it cannot be compared follows from it.
            Ok(if measured == Exit::No { measured } else { broken })
        }
    }
}

fn commands(args: &MeasureArgs) -> Result<Vec<CommandLine>, CliError> {
    let mut commands = vec![command_line(&ProgramArgs { words: args.words.clone() })];
    for text in &args.compare {
        let command = text
            .parse::<CommandLine>()
            .with_context(|| format!("cannot understand `--compare {text}`"))
            .hint(|| "quote it as for a shell: --compare 'PROGRAM \"an argument\"'")?;
        commands.push(command);
    }
    Ok(commands)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    kept: &'a KeptMeasurement,
    /// Its number in the history, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a Gate>,
}

/// The page's place, tried out.
fn page_place(args: &MeasureArgs, commands: &[CommandLine], path: &Path) -> Result<OutputPlace, CliError> {
    let mut inputs = inputs_of(commands, args.launching.input.as_deref());
    store::add_history(&args.keeping, &mut inputs);
    if let Some(Baseline::File(file)) = &args.gate.against {
        inputs.add(format!("the baseline `{}`", printable(file)), file);
    }
    for state in &args.states {
        if let StateChoice::Boot(file) = state {
            inputs.add(format!("the saved page cache `{}`", printable(file)), file);
        }
    }
    let place = OutputPlace::new(path, kinds::PAGE, args.force.force)?.not_over(inputs);
    writing::try_out([&place])?;
    Ok(place)
}

fn show(
    args: &MeasureArgs,
    page_place: Option<&OutputPlace>,
    number: Option<i64>,
    kept: &KeptMeasurement,
    gate: Option<&Gate>,
    earlier: &str,
) -> Result<(), CliError> {
    let printed = Printed { kept, number, gate };
    if let Some(place) = page_place {
        page::write(place, &kept.measurement, &printed)?;
    }
    if args.json {
        return json::print(SCHEMA, &printed);
    }
    let gate = gate.map(gate_report::report).unwrap_or_default();
    match args.export {
        Some(format) => {
            if !gate.is_empty() {
                output::note(gate.trim());
            }
            output::print(&export::current(format, number, kept)?)
        }
        None => output::print(&(report::report(&kept.measurement) + earlier + &gate)),
    }
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
