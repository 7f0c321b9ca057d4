//! Options for starting a program, shared by all verbs that start one: input, readiness, time limit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_launch::{CommandLine, Input, Interrupt, LaunchOptions, Output, Readiness, find_program};
use coldstart_output::Inputs;
use coldstart_profile::printable;

use crate::error::AppError;

/// Options of a start with redirected streams.
#[derive(Clone, Debug)]
pub struct Launching {
    /// When the start is over.
    pub waiting: Waiting,
    /// The program's standard input, a regular file; by default /dev/null.
    pub input: Option<PathBuf>,
    /// Whether the program's output goes to the caller's stdout and stderr; otherwise it is dropped.
    pub show_output: bool,
}

impl Launching {
    /// Converts to the options of a launch. Checks that the input can be opened.
    ///
    /// # Errors
    /// If the input cannot be read, or the signal handlers cannot be installed.
    pub fn options(&self) -> Result<LaunchOptions, AppError> {
        Ok(LaunchOptions {
            input: input(self.input.as_deref(), Input::Null)?,
            output: if self.show_output { Output::Inherit } else { Output::Null },
            ..self.waiting.options()?
        })
    }
}

/// When a start is over, and its time limit.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The condition under which the program counts as started.
    pub ready: Readiness,
    /// Time limit of a start; at least a millisecond.
    pub time_limit: Duration,
    /// Time between SIGTERM and SIGKILL for the remaining processes of a start.
    pub grace: Duration,
}

impl Waiting {
    /// Converts to the options of a launch with all streams at /dev/null. A signal ends the start.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn options(&self) -> Result<LaunchOptions, AppError> {
        Ok(LaunchOptions {
            readiness: self.ready.clone(),
            time_limit: Some(self.time_limit.max(Duration::from_millis(1))),
            grace: self.grace,
            interrupt: Some(Interrupt::listen()?),
            ..LaunchOptions::default()
        })
    }
}

/// The files that a start reads and no output may replace: the program, its input, and files among its arguments.
pub fn inputs_of<'a>(commands: impl IntoIterator<Item = &'a CommandLine>, input: Option<&Path>) -> Inputs {
    let search = std::env::var_os("PATH");
    let mut inputs = Inputs::default();
    for command in commands {
        if let Ok(program) = find_program(&command.program, search.as_deref(), None) {
            inputs.add(format!("the started program `{}`", printable(&program)), &program);
        }
        // A script's file is an argument of its interpreter.
        for argument in &command.arguments {
            let path = Path::new(argument);
            inputs.add(format!("`{}` from the command line", printable(path)), path);
        }
    }
    if let Some(input) = input {
        inputs.add(format!("the input `{}`", printable(input)), input);
    }
    inputs
}

/// Opens the program's standard input to check it before anything is started; `otherwise` is the default.
///
/// # Errors
/// When it is not a regular file, or cannot be read.
pub fn input(named: Option<&Path>, otherwise: Input) -> Result<Input, AppError> {
    let input = named.map_or(otherwise, |path| Input::File(path.to_owned()));
    input.open()?;
    Ok(input)
}
