//! `coldstart doctor`: which features work on this machine, what each missing one costs, and how to enable it.

mod render;

use coldstart_app::doctor::{SCHEMA, doctor};
use coldstart_doctor::Verb;

use crate::args::doctor::{DoctorArgs, VerbChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let report = doctor(args.verb.map(verb));
    let exit = if report.impossible.is_empty() { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &report)?;
    } else {
        output::print(&render::in_words(&report, args.all))?;
    }
    Ok(exit)
}

fn verb(choice: VerbChoice) -> Verb {
    match choice {
        VerbChoice::Inspect => Verb::Inspect,
        VerbChoice::Resolve => Verb::Resolve,
        VerbChoice::Measure => Verb::Measure,
        VerbChoice::Pack => Verb::Pack,
        VerbChoice::Verify => Verb::Verify,
        VerbChoice::Unpack => Verb::Unpack,
        VerbChoice::Bind => Verb::Bind,
        VerbChoice::Unbind => Verb::Unbind,
        VerbChoice::Status => Verb::Status,
        VerbChoice::Ldcache => Verb::Ldcache,
        VerbChoice::Pagecache => Verb::Pagecache,
        VerbChoice::Prefetch => Verb::Prefetch,
        VerbChoice::Image => Verb::Image,
        VerbChoice::Index => Verb::Index,
        VerbChoice::Order => Verb::Order,
        VerbChoice::Installed => Verb::Installed,
        VerbChoice::Trace => Verb::Trace,
        VerbChoice::View => Verb::View,
        VerbChoice::Speedup => Verb::Speedup,
    }
}
