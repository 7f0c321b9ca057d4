//! How a program is to be started and how long its calls are counted.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use coldstart_launch::{Input, Interrupt, Output};

/// How long calls are counted. Whatever is still there then is killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Until {
    /// Until the last process that the program started is gone.
    #[default]
    Exit,
    /// Until the first process ends, whatever it leaves behind.
    FirstProcessExit,
    /// Until the first program's entry point is reached: all libraries are mapped and relocated, and those linked to it have been
    /// initialised; `main` has not begun. Of a script the interpreter is that program.
    AfterLoader,
}

/// How a program is to be started and how long its calls are counted. The default is silent, without a limit, to the
/// end of the last process.
#[derive(Clone, Debug)]
pub struct CountOptions {
    /// When to stop.
    pub until: Until,
    /// The program's standard input.
    pub input: Input,
    /// The program's standard output and error.
    pub output: Output,
    /// End it after this long; what was counted so far is the result.
    pub time_limit: Option<Duration>,
    /// Variables to set, or with `None` to remove; the rest is as ours.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The program's working directory; ours if `None`.
    pub working_directory: Option<PathBuf>,
    /// Signals that end the counting, with an error.
    pub interrupt: Option<Interrupt>,
    /// So many failed file-name calls are kept with their names; of the others only the number.
    pub most_failed_names: usize,
}

impl CountOptions {
    /// Ten times the failures of the worst library search we have seen.
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
