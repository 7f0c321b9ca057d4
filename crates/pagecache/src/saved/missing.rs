//! What was not restored, and why.

use std::fmt;
use std::io;
use std::path::PathBuf;

use coldstart_profile::FileIdentity;
use rustix::io::Errno;

use crate::residency::Unknown;

/// An item that was not, or not completely, restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The path of a file, block device, directory or symbolic link.
    pub path: PathBuf,
    /// Number of missing pages; 0 for names.
    pub pages: u64,
    /// Why.
    pub reason: MissingReason,
}

/// Why something was not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// It does not exist any more.
    Gone,
    /// It has another size or modification time, so its pages are not the saved ones.
    Changed {
        /// Its current state.
        now: FileIdentity,
    },
    /// It was replaced by a file of another type.
    OtherKind,
    /// It cannot be opened.
    Unreadable(Errno),
    /// Reading some of its pages failed.
    ReadFailed(Errno),
    /// Its pages were read, but evicted again before the check.
    EvictedAgain,
    /// Its pages were read, but their residency is hidden from this user.
    NotTold(Unknown),
}

impl MissingReason {
    /// One word for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Changed { .. } => "changed",
            Self::OtherKind => "other-kind",
            Self::Unreadable(_) => "unreadable",
            Self::ReadFailed(_) => "read-failed",
            Self::EvictedAgain => "evicted-again",
            Self::NotTold(_) => "not-told",
        }
    }

    /// Whether the saved content does not exist any more.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Gone | Self::Changed { .. } | Self::OtherKind)
    }

    /// Why a name could not be opened or looked up.
    pub(super) fn of_name(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Gone,
            // A link, a file or a socket replaced a file, a directory or a link.
            Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::INVAL | Errno::NOTBLK => Self::OtherKind,
            errno => Self::Unreadable(errno),
        }
    }

    /// The same, from a standard error.
    pub(super) fn of_error(error: &io::Error) -> Self {
        Self::of_name(Errno::from_io_error(error).unwrap_or(Errno::IO))
    }
}

impl fmt::Display for MissingReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => formatter.write_str("it does not exist any more"),
            Self::Changed { .. } => formatter.write_str("it has changed"),
            Self::OtherKind => formatter.write_str("it was replaced by a file of another type"),
            Self::Unreadable(errno) => write!(formatter, "it cannot be opened: {}", io::Error::from(*errno)),
            Self::ReadFailed(errno) => write!(formatter, "it cannot be read: {}", io::Error::from(*errno)),
            Self::EvictedAgain => formatter.write_str("evicted again before the check"),
            Self::NotTold(unknown) => write!(formatter, "its residency is unknown: {unknown}"),
        }
    }
}
