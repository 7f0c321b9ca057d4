//! Why a loader's log is missing.

use std::io;
use std::path::PathBuf;

use coldstart_launch::LaunchError;
use thiserror::Error;

/// Why a loader's log is missing.
#[derive(Debug, Error)]
pub enum LoaderLogError {
    /// The program could not be started, or we were interrupted.
    #[error("cannot log what the loader does")]
    Launch(#[from] LaunchError),
    /// The program's loader wrote none, or would not.
    #[error("cannot get a log of the loader for `{}`: {reason}", .program.display())]
    NoLog {
        /// The file executed.
        program: PathBuf,
        /// Why.
        reason: NoLog,
    },
    /// The log has no statistics.
    #[error("the loader's log for `{}` has no relocation time: {}", .program.display(), if *.got_control { "this loader does not measure it" } else { "the program ended before it was relocated" })]
    NoStatistics {
        /// The file executed.
        program: PathBuf,
        /// Whether the program began.
        got_control: bool,
    },
    /// A temporary file failed.
    #[error("cannot {what}")]
    Io {
        /// The action, as an infinitive.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Why a loader writes no log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoLog {
    /// musl's loader does not support `LD_DEBUG`.
    #[error("its loader is musl's, which writes none")]
    Musl,
    /// A static program has no loader.
    #[error("it is linked statically and has no loader")]
    Static,
    /// glibc ignores `LD_DEBUG` in programs with more privileges than their caller (`AT_SECURE`).
    #[error("it runs with other privileges than its caller's, so the loader ignores LD_DEBUG")]
    OtherRights,
    /// An unknown loader, which may not honour our variables.
    #[error("its loader, `{}`, is unknown", .0.display())]
    UnknownLoader(PathBuf),
    /// Another reason.
    #[error("the loader wrote none")]
    NotWritten,
}

impl LoaderLogError {
    /// Advice, if there is any. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoLog { reason: NoLog::OtherRights, .. } => {
                Some("run it as the user whose privileges it gets, such as root for set-user-ID programs".into())
            }
            Self::NoLog { reason: NoLog::Musl | NoLog::Static, .. } => {
                Some("count its system calls instead: they include every failed probe".into())
            }
            Self::NoLog { reason: NoLog::NotWritten, .. } => Some(
                "the program may have removed LD_DEBUG from its environment, or may lack write permission in TMPDIR"
                    .into(),
            ),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(LoaderLogError);
