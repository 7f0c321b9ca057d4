//! From arguments to launch options, for every verb that starts a program.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use coldstart_app::launching::{Launching, Waiting};
use coldstart_launch::{CommandLine, LaunchOptions};

use crate::args::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;

pub(crate) fn command_line(args: &ProgramArgs) -> CommandLine {
    let mut words = args.words.iter().cloned();
    // The parser demands at least one word.
    CommandLine { program: words.next().unwrap_or_default(), arguments: words.collect() }
}

pub(crate) fn launching(args: &LaunchingArgs) -> Launching {
    Launching { waiting: waiting(&args.waiting), input: args.input.clone(), show_output: args.show_output }
}

pub(crate) fn waiting(args: &WaitingArgs) -> Waiting {
    Waiting { ready: args.ready.clone(), time_limit: args.time_limit, grace: args.grace }
}

/// With all streams at /dev/null.
pub(crate) fn waiting_options(args: &WaitingArgs) -> Result<LaunchOptions, CliError> {
    waiting(args).options()
}

/// Says that a launcher could not become the program.
///
/// Codes 127 (not found) and 126 (found, not started) are those of the shell, `env` and `timeout`, so that scripts can
/// distinguish a launcher's failure from the program's own codes.
pub(crate) fn not_started(words: &[OsString], error: &io::Error) -> Exit {
    let program = words.first().map(|word| printable(Path::new(word))).unwrap_or_default();
    output::complain(&output::style::ERROR, "error", &format!("cannot start `{program}`: {error}"));
    match error.kind() {
        io::ErrorKind::NotFound => Exit::ProgramNotFound,
        _ => Exit::ProgramNotStarted,
    }
}
