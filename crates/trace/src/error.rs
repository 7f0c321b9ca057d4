//! Errors of recordings.

use std::io;

use coldstart_launch::LaunchError;
use thiserror::Error;

/// Why a start could not be recorded.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The kernel's page-cache events are not available; a recording without them falls back to residency.
    #[error("cannot record page-cache fills through tracefs")]
    PageFills {
        /// The kernel's error.
        source: io::Error,
    },
    /// The program's file-name calls cannot be observed.
    #[error("cannot observe the program's file-name calls (seccomp user notification)")]
    Names {
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not let us read the names in the program's memory.
    #[error("cannot read the names of the files that the program opens (process_vm_readv)")]
    UnreadableNames {
        /// The kernel's error.
        source: io::Error,
    },
    /// The program could not be started, or we were interrupted.
    #[error("cannot record a start")]
    Launch(#[from] LaunchError),
    /// The tracing process could not be started.
    #[error("cannot start the process that traces the program (socketpair, memfd_create, fork)")]
    NoFollower {
        /// The kernel's error.
        source: io::Error,
    },
    /// The tracing process has failed.
    #[error("the process that traces the program has failed")]
    Follower {
        /// The cause.
        source: io::Error,
    },
    /// The kernel does not let us trace the program, or tracing ended early.
    #[error("cannot trace the program: {reason}")]
    NotFollowed {
        /// The cause.
        reason: String,
    },
}

impl TraceError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnreadableNames { .. } => Some("`coldstart doctor` shows what forbids it, and how to allow it"),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(TraceError);
