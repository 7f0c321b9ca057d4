//! How a program is started, fed, waited for and ended: the same for every verb that starts one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_launch::{CommandLine, Input, Interrupt, LaunchOptions, Output, Readiness, find_program};
use coldstart_output::Inputs;
use coldstart_profile::printable;

use crate::error::AppError;

/// A start with its streams under our control.
#[derive(Clone, Debug)]
pub struct Launching {
    /// What is waited for.
    pub waiting: Waiting,
    /// The program's standard input, a regular file; nothing to read where there is none.
    pub input: Option<PathBuf>,
    /// Whether the program's own output goes where ours goes; else it is dropped.
    pub show_output: bool,
}

impl Launching {
    /// As a launch takes them. The input is tried out before anything is started.
    ///
    /// # Errors
    /// When the input cannot be read, or signals cannot be listened for.
    pub fn options(&self) -> Result<LaunchOptions, AppError> {
        Ok(LaunchOptions {
            input: input(self.input.as_deref(), Input::Null)?,
            output: if self.show_output { Output::Inherit } else { Output::Null },
            ..self.waiting.options()?
        })
    }
}

/// What is waited for, and for how long.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// When the program counts as started.
    pub ready: Readiness,
    /// A start that takes longer is given up; at least a millisecond.
    pub time_limit: Duration,
    /// Time between asking what is left of a start to end (SIGTERM) and killing it (SIGKILL).
    pub grace: Duration,
}

impl Waiting {
    /// As a launch takes them, with nothing to read and nowhere to write to. A signal ends the start.
    ///
    /// # Errors
    /// When signals cannot be listened for.
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

/// The files that starts of a program read, so that no output replaces them: the program, and what it is given to read.
pub fn inputs_of<'a>(commands: impl IntoIterator<Item = &'a CommandLine>, input: Option<&Path>) -> Inputs {
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
///
/// # Errors
/// When it is not a regular file, or cannot be read.
pub fn input(named: Option<&Path>, otherwise: Input) -> Result<Input, AppError> {
    let input = named.map_or(otherwise, |path| Input::File(path.to_owned()));
    input.open()?;
    Ok(input)
}
