//! `coldstart measure`: find the files a program reads, put the caches in a defined state, start it, and time it.

mod earlier;
mod export;
mod gate_report;
mod history;
mod page;
mod progress;
pub(crate) mod report;

use std::path::Path;

use anyhow::Context;
use coldstart_app::kinds;
use coldstart_app::measure::{GateOptions, Keeping, MeasureOptions, MeasureOutcome, SCHEMA, import, measure};
use coldstart_app::writing::try_out;
use coldstart_launch::CommandLine;
use coldstart_output::OutputTarget;

use crate::args::launching::ProgramArgs;
use crate::args::measure::{KeepingArgs, MeasureArgs};
use crate::commands::launching::{command_line, launching};
use crate::commands::observer::Terminal;
use crate::error::{CliError, Complaints, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, json};

pub(crate) use progress::Progress;

pub(crate) fn run(args: &MeasureArgs) -> Result<Exit, CliError> {
    if args.keeping.history.is_some() {
        return history::run(args);
    }
    if !args.keeping.import.is_empty() {
        return take_in(&args.keeping);
    }
    let options = options(args)?;
    let page_place = args.html.as_deref().map(|path| page_place(args, &options, path)).transpose()?;
    let outcome = measure(&options, &Terminal, &mut Progress::default())?;
    show(args, page_place.as_ref(), &outcome)?;
    let measured = if outcome.is_measured() { Exit::Done } else { Exit::No };
    match outcome.gate_error {
        None => {
            let is_slower = outcome.gate.is_some_and(|gate| gate.is_slower == Some(true));
            Ok(measured.worse(if is_slower { Exit::No } else { Exit::Done }))
        }
        Some(error) => {
            let mut complaints = Complaints::default();
            complaints.add(error);
            let broken = complaints.finish();
            // If a program no longer starts, the failed comparison is only a consequence.
            Ok(if measured == Exit::No { measured } else { broken })
        }
    }
}

fn options(args: &MeasureArgs) -> Result<MeasureOptions, CliError> {
    let launch = launching(&args.launching).options()?;
    let commands = commands(args)?;
    if args.gate.fail_if_slower.is_some() && args.gate.against.is_none() && args.compare.is_empty() {
        return Err(anyhow::anyhow!("--fail-if-slower requires a baseline"))
            .hint(|| "use --against BASELINE for an earlier measurement, or --compare COMMAND side by side");
    }
    Ok(MeasureOptions {
        commands,
        launch,
        states: args.states.clone(),
        runs: args.runs,
        fixed_frequency: args.fixed_frequency,
        keeping: keeping(&args.keeping),
        label: args.keeping.label.clone(),
        gate: GateOptions {
            against: args.gate.against.clone(),
            fail_if_slower: args.gate.fail_if_slower,
            error_rate: args.gate.error_rate,
            accept_other_machine: args.gate.accept_other_machine,
        },
        look_back: !args.json && args.export.is_none(),
    })
}

fn keeping(args: &KeepingArgs) -> Keeping {
    Keeping { file: args.history_file.clone(), nothing: args.no_history }
}

fn commands(args: &MeasureArgs) -> Result<Vec<CommandLine>, CliError> {
    let mut commands = vec![command_line(&ProgramArgs { words: args.words.clone() })];
    for text in &args.compare {
        let command = text
            .parse::<CommandLine>()
            .with_context(|| format!("cannot parse `--compare {text}`"))
            .hint(|| "quote it as for a shell: --compare 'PROGRAM \"an argument\"'")?;
        commands.push(command);
    }
    Ok(commands)
}

fn take_in(args: &KeepingArgs) -> Result<Exit, CliError> {
    let mut report = String::new();
    for imported in import(&keeping(args), &args.import)? {
        let what = if imported.is_new { "imported as" } else { "already in the history as" };
        report.push_str(&format!("{}: {what} #{}\n", printable(&imported.file), imported.number));
    }
    output::print(&report)?;
    Ok(Exit::Done)
}

/// The page's output, checked to be writable.
fn page_place(args: &MeasureArgs, options: &MeasureOptions, path: &Path) -> Result<OutputTarget, CliError> {
    let place = OutputTarget::new(path, kinds::PAGE, args.force.force)?.not_over(options.inputs());
    try_out([&place])?;
    Ok(place)
}

fn show(args: &MeasureArgs, page_place: Option<&OutputTarget>, outcome: &MeasureOutcome) -> Result<(), CliError> {
    let measurement = &outcome.kept.measurement;
    if let Some(place) = page_place {
        page::write(place, outcome)?;
    }
    if args.json {
        return json::print(SCHEMA, outcome);
    }
    let gate = outcome.gate.as_ref().map(gate_report::report).unwrap_or_default();
    match args.export {
        Some(format) => {
            if !gate.is_empty() {
                output::note(gate.trim());
            }
            output::print(&export::exported(format, &[(outcome.number, &outcome.kept)], |_, _| true)?)
        }
        None => output::print(&(report::report(measurement) + &earlier::lines(&outcome.earlier) + &gate)),
    }
}
