//! From what was typed to a launch, for every verb that starts a program.

use std::time::Duration;

use coldstart_launch::{CommandLine, Input, Interrupt, LaunchOptions, Output};

use crate::args::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use crate::error::CliError;

pub(crate) fn command_line(args: &ProgramArgs) -> CommandLine {
    let mut words = args.words.iter().cloned();
    // The parser demands at least one word.
    CommandLine { program: words.next().unwrap_or_default(), arguments: words.collect() }
}

pub(crate) fn launch_options(args: &LaunchingArgs) -> Result<LaunchOptions, CliError> {
    Ok(LaunchOptions {
        input: args.input.clone().map_or(Input::Null, Input::File),
        output: if args.show_output { Output::Inherit } else { Output::Null },
        ..waiting_options(&args.waiting)?
    })
}

/// With nothing to read and nowhere to write to.
pub(crate) fn waiting_options(args: &WaitingArgs) -> Result<LaunchOptions, CliError> {
    Ok(LaunchOptions {
        readiness: args.ready.clone(),
        time_limit: Some(args.time_limit.max(Duration::from_millis(1))),
        grace: args.grace,
        interrupt: Some(Interrupt::listen()?),
        ..LaunchOptions::default()
    })
}
