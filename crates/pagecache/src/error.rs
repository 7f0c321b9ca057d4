//! Errors, each with the file's name.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::facility_error::FacilityError;
use coldstart_sys::named_file::InodeKind;
use rustix::io::Errno;

use crate::residency::Unknown;

/// Why a file's pages could not be queried or evicted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or examined.
    #[error("cannot open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Only regular files and block devices have pages of their own.
    #[error("`{}` is {kind}, and only regular files and block devices have pages", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: InodeKind,
    },
    /// The kernel's query failed.
    #[error("cannot determine the residency of `{}`", path.display())]
    Ask {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FacilityError,
    },
    /// The kernel hides the file's residency from this caller, who needs it.
    #[error("cannot determine the residency of `{}`: {reason}", path.display())]
    Hidden {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Unknown,
    },
    /// Dirty pages could not be written to disk.
    #[error("cannot write the dirty pages of `{}` to disk", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused to evict.
    #[error("cannot evict `{}`", path.display())]
    Evict {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Reading a directory failed.
    #[error("cannot read the directory `{}`", path.display())]
    Walk {
        /// The directory, or the entry that could not be examined.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// The file or directory concerned.
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. }
            | Self::NotAFile { path, .. }
            | Self::Ask { path, .. }
            | Self::Hidden { path, .. }
            | Self::Write { path, .. }
            | Self::Evict { path, .. }
            | Self::Walk { path, .. } => path,
        }
    }

    /// Whether the file does not exist (any more).
    pub fn is_gone(&self) -> bool {
        match self {
            // ENOTDIR: a directory of the path was replaced. ELOOP, ENXIO: a symbolic link or a socket replaced it.
            Self::Open { source, .. } | Self::Walk { source, .. } => {
                let errno = Errno::from_io_error(source);
                matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO))
            }
            _ => false,
        }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open { source, .. } | Self::Walk { source, .. } | Self::Evict { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Some("this user lacks permission; root may have it".to_owned())
            }
            Self::Hidden { reason, .. } => reason.hint(),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(Error);
