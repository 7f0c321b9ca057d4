//! What can go wrong, always with the file's name.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::facility_error::FacilityError;
use coldstart_sys::named_file::InodeKind;
use rustix::io::Errno;

use crate::residency::Unknown;

/// Why a file's pages could not be looked at or evicted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or looked at.
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
    /// The kernel was asked about the file's pages and failed.
    #[error("cannot tell what of `{}` is resident", path.display())]
    Ask {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FacilityError,
    },
    /// The kernel does not tell this caller about the file, and the caller needs to know.
    #[error("cannot tell what of `{}` is resident: {reason}", path.display())]
    Hidden {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Unknown,
    },
    /// Changed pages could not be written to disk.
    #[error("cannot write the changed pages of `{}` to disk", path.display())]
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
    /// A directory cannot be read on.
    #[error("cannot read the directory `{}`", path.display())]
    Walk {
        /// The directory, or the entry that could not be looked at.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// The file or directory this is about.
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

    /// Whether the file was not there (any more).
    pub fn is_gone(&self) -> bool {
        match self {
            // ENOTDIR: a directory on the way is none any more. ELOOP, ENXIO: a symbolic link or a socket stands there now.
            Self::Open { source, .. } | Self::Walk { source, .. } => {
                let errno = Errno::from_io_error(source);
                matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO))
            }
            _ => false,
        }
    }

    /// What to do about it, where there is advice.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open { source, .. } | Self::Walk { source, .. } | Self::Evict { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Some("its permissions keep this user out; root may be allowed to".to_owned())
            }
            Self::Hidden { reason, .. } => reason.hint(),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(Error);
