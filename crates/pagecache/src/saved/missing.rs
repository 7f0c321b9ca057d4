//! What did not come back, and why.

use std::fmt;
use std::io;
use std::path::PathBuf;

use coldstart_profile::FileIdentity;
use rustix::io::Errno;

use crate::residency::Unknown;

/// Something that did not come back, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What: a file, block device, directory or symbolic link.
    pub path: PathBuf,
    /// Pages of it that are missing; 0 for names.
    pub pages: u64,
    /// Why.
    pub reason: MissingReason,
}

/// Why something did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// It is not there any more.
    Gone,
    /// It has another size or modification time, so its pages are not those that were saved.
    Changed {
        /// What it is now.
        now: FileIdentity,
    },
    /// Something of another kind took its place.
    OtherKind,
    /// It may not be opened, or opening failed.
    Unreadable(Errno),
    /// Reading some of its pages failed.
    ReadFailed(Errno),
    /// Its pages were read and had left memory again when they were looked for.
    EvictedAgain,
    /// Its pages were read, and the kernel does not tell this user whether they stayed.
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

    /// Whether what was saved is no longer there to be brought back.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Gone | Self::Changed { .. } | Self::OtherKind)
    }

    /// Why a name could not be opened or looked up.
    pub(super) fn of_name(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Gone,
            // A link, a file or a socket stands where a file, a directory or a link stood.
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
            Self::Gone => formatter.write_str("it is gone"),
            Self::Changed { .. } => formatter.write_str("it has changed"),
            Self::OtherKind => formatter.write_str("something of another kind took its place"),
            Self::Unreadable(errno) => write!(formatter, "it cannot be opened: {}", io::Error::from(*errno)),
            Self::ReadFailed(errno) => write!(formatter, "it cannot be read: {}", io::Error::from(*errno)),
            Self::EvictedAgain => formatter.write_str("evicted again before the check"),
            Self::NotTold(unknown) => write!(formatter, "nobody tells whether it came: {unknown}"),
        }
    }
}
