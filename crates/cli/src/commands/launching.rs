//! From what was typed to a launch, for every verb that starts a program.

use std::path::Path;
use std::time::Duration;

use coldstart_launch::{CommandLine, Input, Interrupt, LaunchOptions, Output, find_program};
use coldstart_output::Inputs;

use crate::args::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use crate::error::CliError;
use crate::output::path::printable;

pub(crate) fn command_line(args: &ProgramArgs) -> CommandLine {
    let mut words = args.words.iter().cloned();
    // The parser demands at least one word.
    CommandLine { program: words.next().unwrap_or_default(), arguments: words.collect() }
}

pub(crate) fn launch_options(args: &LaunchingArgs) -> Result<LaunchOptions, CliError> {
    Ok(LaunchOptions {
        input: input(args.input.as_deref(), Input::Null)?,
        output: if args.show_output { Output::Inherit } else { Output::Null },
        ..waiting_options(&args.waiting)?
    })
}

/// The files that starts of a program read, so that no output replaces them: the program, and what it is given to read.
pub(crate) fn inputs_of<'a>(commands: impl IntoIterator<Item = &'a CommandLine>, input: Option<&Path>) -> Inputs {
    let search = std::env::var_os("PATH");
    let mut inputs = Inputs::default();
    for command in commands {
        if let Ok(program) = find_program(&command.program, search.as_deref(), None) {
            inputs.add(format!("the program `{}`, which is started", printable(&program)), &program);
        }
        // A script's own file stands behind its interpreter.
        for argument in &command.arguments {
            let path = Path::new(argument);
            inputs.add(format!("`{}`, which the command line names", printable(path)), path);
        }
    }
    if let Some(input) = input {
        inputs.add(format!("the input `{}`", printable(input)), input);
    }
    inputs
}

/// What was named as the program's standard input, tried out before anything is started; `otherwise` where nothing was named.
pub(crate) fn input(named: Option<&Path>, otherwise: Input) -> Result<Input, CliError> {
    let input = named.map_or(otherwise, |path| Input::File(path.to_owned()));
    input.open()?;
    Ok(input)
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
