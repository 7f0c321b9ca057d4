//! Why there is no log.

use std::io;
use std::path::PathBuf;

use coldstart_launch::LaunchError;
use thiserror::Error;

/// Why the loader's log cannot be had.
#[derive(Debug, Error)]
pub enum LoaderLogError {
    /// The program could not be started, or we were interrupted.
    #[error("cannot log what the loader does")]
    Launch(#[from] LaunchError),
    /// The program's loader wrote none, or would not.
    #[error("no log of the loader can be had for `{}`: {reason}", .program.display())]
    NoLog {
        /// The file executed.
        program: PathBuf,
        /// Why.
        reason: NoLog,
    },
    /// The log has no statistics.
    #[error("the loader's log for `{}` has no time of relocation: {}", .program.display(), if *.got_control { "this loader measures none" } else { "the program ended before it was relocated" })]
    NoStatistics {
        /// The file executed.
        program: PathBuf,
        /// Whether the program began.
        got_control: bool,
    },
    /// A file of ours failed.
    #[error("cannot {what}")]
    Io {
        /// What was tried, as an infinitive.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Why a loader keeps no log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoLog {
    /// musl's loader knows no `LD_DEBUG`.
    #[error("its loader is musl's, which keeps none")]
    Musl,
    /// A static program has no loader.
    #[error("it is linked statically, and has no loader")]
    Static,
    /// glibc ignores `LD_DEBUG` in programs that run with other rights than their caller's (`AT_SECURE`).
    #[error("it runs with other rights than its caller's, for which the loader ignores LD_DEBUG")]
    OtherRights,
    /// A loader that may not honour our variables.
    #[error("its loader, `{}`, is not known to us", .0.display())]
    UnknownLoader(PathBuf),
    /// Something else.
    #[error("the loader wrote none")]
    NotWritten,
}

impl LoaderLogError {
    /// What the user can do about it, where there is advice. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoLog { reason: NoLog::OtherRights, .. } => {
                Some("run it as the user whose rights it takes, such as root for set-user-ID programs".into())
            }
            Self::NoLog { reason: NoLog::Musl | NoLog::Static, .. } => {
                Some("count its system calls instead: they show each file that is tried".into())
            }
            Self::NoLog { reason: NoLog::NotWritten, .. } => {
                Some("the program may have removed LD_DEBUG from its environment, or may not write to TMPDIR".into())
            }
            _ => None,
        }
    }
}

coldstart_hint::hinted!(LoaderLogError);
