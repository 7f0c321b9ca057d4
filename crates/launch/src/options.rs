//! Options of a launch.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coldstart_sys::named_file::open_input;
use coldstart_sys::private_mounts::PrivateMounts;

use crate::error::LaunchError;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::readiness::Readiness;

/// The program's standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`: the end of file at the first read.
    #[default]
    Null,
    /// Ours. If it is a terminal the program stays in our process group, or reading would stop it (`SIGTTIN`); Ctrl-C
    /// then reaches the program too.
    Inherit,
    /// A regular file or `/dev/null`, opened for each launch, so that each reads it from its beginning. A pipe
    /// can be read only once and is refused.
    File(PathBuf),
}

impl Input {
    /// Opens the file; `None` for the kinds without one. The program starts to read at the beginning.
    ///
    /// # Errors
    /// [`LaunchError::Redirection`] for a file that is missing, unreadable, or neither regular nor `/dev/null`.
    pub fn open(&self) -> Result<Option<File>, LaunchError> {
        let Self::File(path) = self else { return Ok(None) };
        let failed = |source| LaunchError::Redirection { stream: "input", path: path.clone(), source };
        open_input(path).map(Some).map_err(failed)
    }
}

/// Options of a launch. [`LaunchOptions::default`] waits for the exit, without output or limit.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The moment that counts as started.
    pub readiness: Readiness,
    /// The program's standard input.
    pub input: Input,
    /// The program's standard output and error. With [`Readiness::Stdout`], standard output is a pipe that we copy from.
    pub output: Output,
    /// End it when it is not ready after this time.
    pub time_limit: Option<Duration>,
    /// Time between SIGTERM and SIGKILL when the tree is ended.
    pub grace: Duration,
    /// Variables to set, or with `None` to remove; the rest is as ours.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The program's working directory; ours if `None`.
    pub working_directory: Option<PathBuf>,
    /// A view of the file system that the program is started in. The program's own name is still looked up outside, where the same
    /// names exist.
    ///
    /// Such a start takes longer, by a fork instead of `posix_spawn`: compare it only with starts in another view, which may be one
    /// without overlays.
    pub mounts: Option<Arc<PrivateMounts>>,
    /// Signals that end the launch. Without it, Ctrl-C has the effect it had before, and may leave processes behind.
    pub interrupt: Option<Interrupt>,
}

impl LaunchOptions {
    /// Long enough for a program to save its state, short enough to wait for at each run.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            readiness: Readiness::Exit,
            input: Input::default(),
            output: Output::default(),
            time_limit: None,
            grace: Self::DEFAULT_GRACE,
            environment: Vec::new(),
            working_directory: None,
            mounts: None,
            interrupt: None,
        }
    }
}
