//! `coldstart order functions`.

use coldstart_app::order::{FunctionsOptions, FunctionsOutcome, Linker, functions};

use crate::args::order::functions::FunctionsArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact};
use crate::output::{self, json, size};

pub(super) fn run(args: &FunctionsArgs) -> Result<Exit, CliError> {
    let linker = Linker::from(args.linker);
    if linker == Linker::Ld && args.map.is_none() && args.objects.is_empty() {
        return Err(CliError::hinted(
            CliError::new("GNU ld takes names of sections, which only its map or the object files tell"),
            "give --map FILE (link with `-Wl,-Map=FILE`) or --objects FILE",
        ));
    }
    if linker != Linker::Ld && args.script.is_some() {
        return Err(CliError::hinted(CliError::new("--script is for GNU ld only"), "add `--for ld`, or omit --script"));
    }
    let outcome = functions(&FunctionsOptions {
        traces: args.traces.clone(),
        object: args.object.clone(),
        symbols: args.symbols.clone(),
        debuginfod: args.debuginfod,
        linker,
        order: args.order.into(),
        data: args.data,
        map: args.map.clone(),
        objects: args.objects.clone(),
        script: args.script.clone(),
        output: args.output.clone(),
        force: args.force.force,
    })?;
    if args.json {
        json::print("coldstart.order-functions/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    for note in &outcome.notes {
        output::note(note);
    }
    Ok(Exit::Done)
}

fn in_words(outcome: &FunctionsOutcome) -> String {
    let mut text = format!("wrote {}\n", printable(&outcome.output));
    let listed = format!("{}, {}", counted(outcome.functions, "function"), size::bytes(outcome.bytes));
    text.push_str(&fact("listed", &format!("{listed}, in {}", counted(outcome.lines, "line"))));
    for start in &outcome.starts {
        let pages = format!(
            "{}: {}; {} of code now, {} predicted",
            printable(&start.path),
            counted(start.calls, "first call"),
            counted(start.pages, "page"),
            start.predicted
        );
        text.push_str(&fact("start", &pages));
    }
    let mut limits = Vec::new();
    if outcome.unnamed > 0 {
        limits.push(format!("{} without a name cannot move", counted(outcome.unnamed, "called function")));
    }
    match outcome.cannot_move_bytes {
        Some(0) => {}
        Some(bytes) => limits.push(format!("{} without a section of their own cannot move", size::bytes(bytes))),
        None => {
            limits.push("whether each function has a section of its own is unknown without --map or --objects".into())
        }
    }
    if outcome.unstable_names > 0 {
        limits.push(format!("{} may change with the compiler", counted(outcome.unstable_names, "name")));
    }
    text.push_str(&fact("limits", &limits.join("; ")));
    let extra = [
        (outcome.merged, "function with several names"),
        (outcome.cold_parts, "cold part, behind all others"),
        (outcome.variables, "variable"),
    ];
    let extra: Vec<String> =
        extra.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} x {what}")).collect();
    text.push_str(&fact("of these", &extra.join("; ")));
    text
}
