//! `coldstart order zip`.

use coldstart_app::order::zip::{ZipOptions, ZipOutcome, order_zip};
use coldstart_archive::zip::ZipLayout;

use crate::args::order::zip::{LayoutChoice, ZipArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &ZipArgs) -> Result<Exit, CliError> {
    let outcome = order_zip(&ZipOptions {
        file: args.file.clone(),
        output: args.output.clone(),
        traces: args.traces.clone(),
        layout: args.layout.map(|layout| match layout {
            LayoutChoice::Plain => ZipLayout::Plain,
            LayoutChoice::Mozilla => ZipLayout::Mozilla,
        }),
        force: args.force.force,
    })?;
    if args.json {
        json::print("coldstart.order-zip/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(Exit::Done)
}

fn in_words(outcome: &ZipOutcome) -> String {
    let mut text = format!("wrote `{}`: {}\n", printable(&outcome.path), size::bytes(outcome.bytes));
    text.push_str(&fact(
        "used",
        &format!(
            "{} of {}, {}",
            outcome.used,
            plain(&counted(outcome.entries, "entry")),
            size::bytes(outcome.used_bytes)
        ),
    ));
    let lay = |pieces: u64, span: u64| format!("{} in {}", plain(&counted(pieces, "piece")), size::bytes(span));
    text.push_str(&fact("before", &lay(outcome.pieces_before, outcome.span_before)));
    text.push_str(&fact("now", &lay(outcome.pieces_after, outcome.span_after)));
    text.push_str(&fact("proof", &format!("the same entries, byte for byte; digest {}", outcome.digest)));
    for note in &outcome.notes {
        text.push_str(&fact("note", note));
    }
    text
}
