//! `coldstart order check`.

use coldstart_app::order::{CheckOptions, CheckOutcome, StartedProgram, check};

use crate::args::order::check::CheckArgs;
use crate::commands::launching::launching;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{fact, share};
use crate::output::{self, json, size};

pub(super) fn run(args: &CheckArgs) -> Result<Exit, CliError> {
    let program = (!args.words.is_empty())
        .then(|| StartedProgram { words: args.words.clone(), launching: launching(&args.launching) });
    let outcome = check(&CheckOptions {
        list: args.list.clone(),
        before: args.before.clone(),
        after: args.after.clone(),
        control: args.control.clone(),
        traces: args.trace.clone(),
        held_out: args.held_out.clone(),
        program,
    })?;
    if args.json {
        json::print("coldstart.order-check/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(if outcome.gain { Exit::Done } else { Exit::No })
}

fn in_words(outcome: &CheckOutcome) -> String {
    let mut text = if outcome.gain { "a gain\n" } else { "no gain\n" }.to_owned();
    for reason in &outcome.reasons {
        text.push_str(&fact("because", reason));
    }
    let names = format!(
        "{} of {} listed names exist ({})",
        outcome.found,
        outcome.listed,
        share(outcome.found, outcome.listed)
    );
    text.push_str(&fact("names", &names));
    let same = format!(
        "{} with the same size, {} with another one, {} gone, {} new",
        outcome.same, outcome.resized, outcome.removed, outcome.added
    );
    text.push_str(&fact("builds", &same));
    let [before, after] = outcome.code_bytes;
    text.push_str(&fact("code", &format!("{} before, {} after", size::bytes(before), size::bytes(after))));
    let [before, after] = outcome.longest_run;
    let [wide, narrow] = outcome.span.map(size::bytes);
    let order = format!("{before} functions in a row before, {after} after; all within {wide} before, {narrow} after");
    text.push_str(&fact("in order", &order));
    for start in &outcome.predicted {
        let pages = format!(
            "{}{}: {} pages of code, {} predicted, {} in a random order",
            printable(&start.path),
            if start.held_out { " (not used for the list)" } else { "" },
            start.before,
            start.after,
            start.random
        );
        text.push_str(&fact("predicted", &pages));
    }
    if let Some(observed) = outcome.observed {
        let control = observed.control.map(|pages| format!(", {pages} in a random order")).unwrap_or_default();
        let pages = format!("{} pages of code before, {} after{control}", observed.before, observed.after);
        text.push_str(&fact("observed", &pages));
    }
    text
}
