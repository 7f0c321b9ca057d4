//! `coldstart resolve`: how the dynamic loader finds each library of a program, and why. Nothing is run.

mod answer;
mod dot;
mod hints;
mod json_form;
mod known_later;
mod notable;
mod probes;
mod report;
mod tree;
mod why;
mod words;

use coldstart_startup::{Conditions, Inherit, StartOptions};

use crate::args::resolve::{Form, ResolveArgs, StartArgs};
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::{self, json};
use answer::Answer;

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.resolve/1";

pub(super) fn run(args: &ResolveArgs) -> Result<Exit, CliError> {
    let options = options(&args.start);
    let known_later = known_later::gather(&args.later)?;
    let mut complaints = Complaints::default();
    let mut answers = Vec::new();
    for program in &args.programs {
        match Answer::find(program, &options, known_later.as_deref()) {
            Ok(answer) => answers.push(answer),
            Err(error) => complaints.add(error),
        }
    }
    let mut exit = Exit::Done;
    for answer in &answers {
        exit = exit.worse(if answer.is_complete() { Exit::Done } else { Exit::No });
    }
    if args.json {
        json::print(SCHEMA, &json_form::Programs::of(&answers))?;
        return Ok(complaints.finish().worse(exit));
    }
    let mut texts = Vec::new();
    for answer in &answers {
        let text = match (&args.why, args.form()) {
            (Some(library), _) => {
                let (text, is_known) = why::story(answer, library);
                exit = exit.worse(if is_known { Exit::Done } else { Exit::No });
                text
            }
            (None, Form::Dot) => dot::graph(answer),
            (None, Form::Tree) => tree::tree(answer),
            (None, Form::Probes) => probes::list(answer),
            (None, _) => report::report(answer, args.all),
        };
        texts.push(text);
    }
    output::print(&texts.join("\n"))?;
    // The process ends now; giving thousands of small pieces of memory back one by one would take a tenth of its time.
    std::mem::forget(answers);
    Ok(complaints.finish().worse(exit))
}

fn options(start: &StartArgs) -> StartOptions {
    StartOptions {
        sysroot: start.sysroot.clone(),
        current_directory: start.current_directory.clone(),
        conditions: Conditions {
            interpreter: start.interpreter.clone(),
            ld_library_path: start.ld_library_path.clone(),
            ld_preload: start.ld_preload.clone(),
            inherit: Inherit::All,
            levels: start.hwcaps.clone().unwrap_or_default(),
            inhibit_cache: start.no_cache,
            secure: None,
        },
    }
}
