//! From arguments to launch options, for every verb that starts a program.

use coldstart_app::launching::{Launching, Waiting};
use coldstart_launch::{CommandLine, LaunchOptions};

use crate::args::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use crate::error::CliError;

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
