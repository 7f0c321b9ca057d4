//! `coldstart doctor`: what this machine allows, what each missing thing costs, and how to get it.

mod render;

use coldstart_doctor::{Check, Facts, Standing, Verb, impossible_verbs, judge, standings};
use serde::Serialize;

use crate::args::doctor::{DoctorArgs, VerbChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

/// Everything there is to tell.
#[derive(Serialize)]
struct Report {
    /// The verb that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    verb: Option<Verb>,
    /// Verbs that cannot work at all here.
    impossible: Vec<Verb>,
    abilities: Vec<Standing>,
    checks: Vec<Check>,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let report = Report::new(judge(&Facts::here()), args.verb.map(verb));
    let exit = if report.impossible.is_empty() { Exit::Done } else { Exit::No };
    if args.json {
        json::print("coldstart.doctor/1", &report)?;
    } else {
        output::print(&render::in_words(&report, args.all))?;
    }
    Ok(exit)
}

impl Report {
    fn new(mut checks: Vec<Check>, verb: Option<Verb>) -> Self {
        let mut abilities = standings(&checks);
        if let Some(verb) = verb {
            abilities.retain(|standing| standing.verb == verb);
            checks.retain(|check| check.effects.iter().any(|effect| effect.ability.verb() == verb));
            for check in &mut checks {
                check.effects.retain(|effect| effect.ability.verb() == verb);
            }
        }
        Self { verb, impossible: impossible_verbs(&abilities), abilities, checks }
    }
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
        VerbChoice::Trace => Verb::Trace,
        VerbChoice::View => Verb::View,
        VerbChoice::Speedup => Verb::Speedup,
    }
}
