//! Options of counting.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use coldstart_launch::{Input, Interrupt, Output};

/// When counting ends. Remaining processes are killed then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Until {
    /// When the last process of the program has ended.
    #[default]
    Exit,
    /// When the first process ends, whatever it leaves behind.
    FirstProcessExit,
    /// When the first program's entry point is reached: all libraries are mapped and relocated, and those linked to it have been
    /// initialised; `main` has not begun. For a script that program is the interpreter.
    AfterLoader,
}

/// Options of counting. The default is silent, without a limit, until the
/// last process has ended.
#[derive(Clone, Debug)]
pub struct CountOptions {
    /// When to stop.
    pub until: Until,
    /// The program's standard input.
    pub input: Input,
    /// The program's standard output and error.
    pub output: Output,
    /// End it after this time; the counts so far are the result.
    pub time_limit: Option<Duration>,
    /// Variables to set, or with `None` to remove; the rest is as ours.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The program's working directory; ours if `None`.
    pub working_directory: Option<PathBuf>,
    /// Signals that end the counting, with an error.
    pub interrupt: Option<Interrupt>,
    /// Maximum number of failed file-name calls with names; others are only counted.
    pub most_failed_names: usize,
}

impl CountOptions {
    /// Ten times the failures of the worst known library search.
    pub const DEFAULT_MOST_FAILED_NAMES: usize = 150_000;
}

impl Default for CountOptions {
    fn default() -> Self {
        Self {
            until: Until::default(),
            input: Input::default(),
            output: Output::default(),
            time_limit: None,
            environment: Vec::new(),
            working_directory: None,
            interrupt: None,
            most_failed_names: Self::DEFAULT_MOST_FAILED_NAMES,
        }
    }
}
