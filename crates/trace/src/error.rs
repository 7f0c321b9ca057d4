//! What can go wrong with a recording.

use std::io;

use coldstart_launch::LaunchError;
use thiserror::Error;

/// Why a start could not be recorded.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The kernel's page-cache events cannot be had; a recording without them falls back to residency.
    #[error("cannot record page-cache fills through tracefs")]
    PageFills {
        /// The kernel's answer.
        source: io::Error,
    },
    /// The calls of the program cannot be watched.
    #[error("cannot watch the program's file-name calls (seccomp user notification)")]
    Names {
        /// The kernel's answer.
        source: io::Error,
    },
    /// The program could not be started, or we were interrupted.
    #[error("cannot record a start")]
    Launch(#[from] LaunchError),
    /// The process that follows the program has failed.
    #[error("the process that follows the program has failed")]
    Follower {
        /// How.
        source: io::Error,
    },
    /// The kernel does not let us follow the program, or following ended early.
    #[error("the program cannot be followed: {reason}")]
    NotFollowed {
        /// Why.
        reason: String,
    },
}
