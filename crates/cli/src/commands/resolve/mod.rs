//! `coldstart resolve`: how the dynamic loader finds each library of a program, and why. Nothing is run.

mod dot;
mod probes;
mod report;
mod tree;
mod why;
mod words;

use coldstart_app::resolve::{LaterSources, Options, Resolution, SCHEMA, resolve};
use coldstart_startup::{Conditions, Inherit, StartOptions};

use crate::args::resolve::{Form, ResolveArgs, StartArgs};
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &ResolveArgs) -> Result<Exit, CliError> {
    let console = Console::default();
    let answer = resolve(&options(args), &console)?;
    let mut exit = if answer.is_complete() { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &answer)?;
        return Ok(console.into_complaints().finish().worse(exit));
    }
    let mut text_of = |program: &Resolution| match (&args.why, args.form()) {
        (Some(library), _) => {
            let (text, is_known) = why::story(program, library);
            exit = exit.worse(if is_known { Exit::Done } else { Exit::No });
            text
        }
        (None, Form::Dot) => dot::graph(program),
        (None, Form::Tree) => tree::tree(program),
        (None, Form::Probes) => probes::list(program),
        (None, _) => report::report(program, args.all),
    };
    let texts: Vec<String> = answer.programs.iter().map(&mut text_of).collect();
    output::print(&texts.join("\n"))?;
    // The process ends now; giving thousands of small pieces of memory back one by one would take a tenth of its time.
    std::mem::forget(answer);
    Ok(console.into_complaints().finish().worse(exit))
}

fn options(args: &ResolveArgs) -> Options {
    let later = &args.later;
    Options {
        programs: args.programs.clone(),
        start: start_options(&args.start),
        later: LaterSources { plan: later.later.clone(), pid: later.pid, maps: later.mapped.clone() },
    }
}

fn start_options(start: &StartArgs) -> StartOptions {
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
