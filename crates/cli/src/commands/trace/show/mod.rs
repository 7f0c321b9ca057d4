//! `coldstart trace show`: the summary of a trace as text or JSON.
//!
//! Nothing is computed here that is not in [`Figures`]; a file per section selects, sorts and formats.

mod files;
mod head;
mod initialisers;
mod lookups;
mod objects;
mod phases;
mod processes;
mod sections;
mod seeks;
mod words;

use coldstart_app::trace::{TraceView as View, read};
use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;

use crate::args::trace::{PartsArgs, ShowArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::fact;
use crate::output::{self, json};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.trace-show/1";
/// Rows of each table, unless another number is asked for.
const SOME: usize = 10;

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let trace = read(&args.file)?;
    let figures = Figures::of(&trace);
    let limit = args.limit.unwrap_or(if args.json { 0 } else { SOME });
    let limit = if limit == 0 { usize::MAX } else { limit };
    let view = View { trace: &trace, figures: &figures, names: &args.object, limit };
    if args.json {
        json::print(SCHEMA, &view.summary())?;
    } else {
        output::print(&in_words(&view, &args.parts))?;
    }
    Ok(Exit::Done)
}

/// The summary that is shown after recording.
pub(super) fn summary(trace: &Trace) -> String {
    let figures = Figures::of(trace);
    let view = View { trace, figures: &figures, names: &[], limit: SOME };
    head::run(&view) + &head::numbers(&view) + &phases::of_main_process(&view)
}

/// All of it as one JSON object, for recordings.
pub(super) fn print_json(trace: &Trace, schema: &str) -> Result<(), CliError> {
    let figures = Figures::of(trace);
    json::print(schema, &View { trace, figures: &figures, names: &[], limit: usize::MAX }.summary())
}

fn in_words(view: &View<'_>, parts: &PartsArgs) -> String {
    let mut text = head::run(view);
    if view.files().is_empty() && !view.names.is_empty() {
        text.push_str(&fact("object", "no object or file of that name in this start"));
    }
    let all = !parts.any();
    if all {
        text.push_str(&head::numbers(view));
        text.push_str(&phases::of_main_process(view));
    }
    if parts.phases {
        text.push_str(&phases::of_all_processes(view));
    }
    for (is_wanted, part) in [
        (parts.objects, objects::part as fn(&View<'_>) -> String),
        (parts.initialisers, initialisers::part),
        (parts.sections, sections::part),
        (parts.seeks, seeks::part),
        (parts.files, files::part),
        (parts.processes, processes::part),
        (parts.lookups, lookups::part),
    ] {
        if all || is_wanted {
            text.push_str(&part(view));
        }
    }
    text
}
