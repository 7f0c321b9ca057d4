//! `coldstart prefetch record`: from one cold start to a plan.

use std::ffi::{OsStr, OsString};

use coldstart_app::command;
use coldstart_app::prefetch::{PlanSource, RecordOptions, RecordOutcome, record, why};
use coldstart_prefetch::{Choice, Forecast, PlannedPages};

use super::show::device_line;
use crate::args::launching::ProgramArgs;
use crate::args::prefetch::RecordArgs;
use crate::commands::launching::{command_line, launching};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &RecordArgs) -> Result<Exit, CliError> {
    let source = match &args.from {
        Some(trace) => PlanSource::Trace(trace.clone()),
        None => PlanSource::Start {
            command: command_line(&ProgramArgs { words: args.words.clone() }),
            launching: launching(&args.launching),
            make_cold: !args.as_is,
            exact: args.exact,
        },
    };
    let strategy = args.planning.strategy.into();
    let options = RecordOptions { source, strategy, output: args.output.clone(), force: args.force.force };
    let outcome = record(&options, &Terminal)?;
    if args.json {
        json::print("coldstart.prefetch-record/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(Exit::Done)
}

/// The plan in a few lines.
fn in_words(summary: &RecordOutcome) -> String {
    let (path, recorded) = (summary.path.as_path(), &summary.recorded);
    let with_program = summary.hot_start_seconds > 0.0;
    let choice = recorded.choice.as_ref().map(|choice| choice_in_words(choice, with_program)).unwrap_or_default();
    let when =
        if recorded.plan.summary.is_blocking() { "before the program starts" } else { "in parallel with the program" };
    let times = if with_program {
        format!(
            "this start took {:.3} s, a hot one {:.3} s; with the plan, read {when}, the prediction is {:.3} s",
            summary.recorded_start_seconds, summary.hot_start_seconds, summary.predicted_start_seconds,
        )
    } else {
        let replay = recorded.plan.summary.predicted_replay.as_secs_f64();
        format!(
            "the recorded start took {:.3} s; the plan is read {when}, predicted replay {replay:.3} s",
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
        device_line(&recorded.plan.summary),
        command::of_ours("prefetch run", words),
    )
}

/// The two plans in two lines.
fn choice_in_words(choice: &Choice, with_program: bool) -> String {
    let line = |name: &str, of: &Forecast, taken: bool| {
        format!(
            "{name} {}, read as {} in {}, {:.3} s predicted for {}{}\n",
            size::bytes(of.used_bytes),
            size::bytes(of.bytes),
            plain(&counted(of.reads, "read")),
            of.predicted.as_secs_f64(),
            if with_program { "the start" } else { "the replay" },
            if taken { format!("  <- taken: {}", why(choice)) } else { String::new() },
        )
    };
    line("used pages:  ", &choice.used, choice.taken == PlannedPages::Used)
        + &line("cached pages:", &choice.cached, choice.taken == PlannedPages::Cached)
}
