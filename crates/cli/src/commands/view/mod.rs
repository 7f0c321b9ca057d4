//! `coldstart view`: a trace as a page, a picture, another viewer's file, tables, or text.
//!
//! The whole request is checked before anything is read or written, so that an error in the last of several files is found
//! before the first is written.

mod terminal;

use coldstart_app::view::serve::Served;
use coldstart_app::view::{
    Asked, Content, Destination, View, ViewOptions, ViewOutcome, Wanted, Written, check_list, tables,
};
use coldstart_launch::Interrupt;

use crate::args::view::ViewArgs;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::destination::to_stdout;
use crate::output::path::printable;
use crate::output::size::bytes;
use crate::output::{self, json};

const SCHEMA: &str = "coldstart.view/1";

pub(super) fn run(args: &ViewArgs) -> Result<Exit, CliError> {
    let (asked, options) = (asked(args), options(args));
    if asked.table.as_deref() == Some("list") {
        check_list(&asked, &options)?;
        let lines: String = tables::names(args.other.is_some()).into_iter().map(|name| format!("{name}\n")).collect();
        output::print(&lines)?;
        return Ok(Exit::Done);
    }
    let wanted = Wanted::of(&asked, &options)?;
    let interrupt = Interrupt::listen()?;
    let view = View::read(options)?;
    let done = all(args, &asked, &view, &wanted, &interrupt);
    match done {
        // Errors after a signal are ignored. A signal is also the normal end of serving.
        Err(_) if interrupt.signal().is_some() => Ok(Exit::Interrupted),
        Ok(()) if interrupt.signal().is_some() && !args.open => Ok(Exit::Interrupted),
        done => done.map(|()| Exit::Done),
    }
}

fn asked(args: &ViewArgs) -> Asked {
    Asked {
        outputs: args.output.clone(),
        force: args.force.force,
        kind: args.kind.map(Into::into),
        format: args.format.map(Into::into),
        table: args.table.clone(),
        open: args.open,
        terminal: args.terminal,
        json: args.json,
    }
}

fn options(args: &ViewArgs) -> ViewOptions {
    ViewOptions {
        trace: args.trace.clone(),
        other: args.other.clone(),
        object: args.object.clone(),
        theme: args.theme.map(Into::into),
        size: args.size.map(|size| (size.width, size.height)),
    }
}

fn all(args: &ViewArgs, asked: &Asked, view: &View, wanted: &Wanted, interrupt: &Interrupt) -> Result<(), CliError> {
    let mut outcome = view.outcome();
    if wanted.files.iter().any(|file| file.kind.is_picture()) {
        outcome.object = Some(view.picture()?.path.clone());
    }
    for file in &wanted.files {
        for (content, destination) in file.contents(asked) {
            let written = one(view, content, &destination, interrupt)?;
            if let Some(path) = destination.path() {
                output::report(&format!("wrote {} ({})\n", printable(path), bytes(written.bytes)));
            }
            outcome.written.push(written);
        }
    }
    if args.terminal || wanted.is_nothing() {
        output::print(&terminal::text(view.first(), args.object.as_deref())?)?;
    }
    if !args.open {
        return finish(args, &outcome);
    }
    let served = Served::begin(view.page()?)?;
    outcome.address = Some(served.address().to_owned());
    finish(args, &outcome)?;
    if !args.json {
        output::print(&format!("{}\n", served.address()))?;
    }
    served.open(&Terminal);
    output::report("serving the page; end with Ctrl-C\n");
    served.run(interrupt)
}

/// Writes one file.
fn one(
    view: &View,
    content: Content<'_>,
    destination: &Destination,
    interrupt: &Interrupt,
) -> Result<Written, CliError> {
    if let Destination::File(place) = destination {
        return view.write_file(content, place, Some(interrupt));
    }
    let mut written = None;
    let size = to_stdout(Some(interrupt), |out| {
        written = Some(view.write(content, Some(interrupt), out)?);
        Ok(())
    })?;
    written.map(|written| Written { bytes: size, ..written }).ok_or_else(|| CliError::new("nothing was written"))
}

/// Prints the remaining notes.
fn finish(args: &ViewArgs, outcome: &ViewOutcome) -> Result<(), CliError> {
    for caveat in &outcome.caveats {
        output::note(&output::text::escaped(caveat));
    }
    if args.json { json::print(SCHEMA, outcome) } else { Ok(()) }
}
