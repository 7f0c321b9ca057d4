//! `coldstart`: makes big Linux programs start fast, and proves it.
//!
//! The flow: parse the arguments, run the verb, print the result, exit with a code for scripts. Each verb has one file for its
//! arguments (`args/`) and one for its work (`commands/`), with the same name.

mod args;
mod commands;
mod error;
mod exit;
mod output;
mod usage;

/// The program that does the work of `survey`.
pub mod surveyor {
    pub use coldstart_app::survey::Options;

    pub use crate::commands::survey::{Surveyor, main};
}

pub use args::listed::{ListedArgument, ValueKind, definition, listed_arguments};

use error::CliError;
use exit::Exit;

/// Runs the verb in the process's arguments, and returns the exit code.
pub fn main() -> std::process::ExitCode {
    let (exit, is_json) = match args::hurried::launcher(std::env::args_os().skip(1)) {
        Some(args) => (exit_of(commands::run_launcher(&args)), false),
        None => match args::hurried::parse() {
            Ok(cli) => {
                cli.color.apply();
                coldstart_app::threads::prepare();
                (exit_of(commands::run(&cli.verb)), cli.is_json)
            }
            Err(answer) => (usage::report(&answer), usage::asks_for_json()),
        },
    };
    if is_json && exit == Exit::Broken {
        output::json::print_errors();
    }
    exit.into()
}

fn exit_of(done: Result<Exit, CliError>) -> Exit {
    done.unwrap_or_else(|error| error::report(&error))
}
