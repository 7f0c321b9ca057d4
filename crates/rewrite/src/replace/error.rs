//! Why a file was not put in place, always with its name and with what would help.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_output::OutputError;

use super::file_refusal::FileRefusal;

/// Why a file was not rewritten. Whatever it says, the target is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// What was written did not pass the proof, and was thrown away. The cause speaks for itself.
    #[error(transparent)]
    NotProven(E),
    /// It could not be written or put in place.
    #[error(transparent)]
    NotWritten(#[from] ReplaceError),
}

impl<E> WriteError<E> {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotProven(_) => None,
            Self::NotWritten(error) => error.hint(),
        }
    }
}

/// Why a file could not be opened, written or put in place.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The original cannot be opened or looked at.
    #[error("cannot open `{}`", path.display())]
    Open {
        /// The file as it was named.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What would be replaced cannot be.
    #[error("cannot replace `{}`: {refusal}", path.display())]
    Refused {
        /// The file that would be replaced.
        path: PathBuf,
        /// Why not.
        refusal: FileRefusal,
    },
    /// Somebody changed or replaced the original while we worked on it.
    #[error("`{}` was changed by somebody else meanwhile; nothing was written", path.display())]
    Changed {
        /// The original.
        path: PathBuf,
    },
    /// The output is the input.
    #[error("`{}` is the same file as `{}`", path.display(), original.display())]
    SameFile {
        /// The output as it was named.
        path: PathBuf,
        /// The input as it was named.
        original: PathBuf,
    },
    /// The output may not be written there.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The original cannot be kept under the name that was given.
    #[error("cannot keep the original as `{}`: {problem}", path.display())]
    Keep {
        /// The name for the original.
        path: PathBuf,
        /// Why not.
        problem: &'static str,
    },
    /// The disk or a quota is full.
    #[error("`{}` has no room for the new file", directory.display())]
    NoRoom {
        /// Where the new file was to be.
        directory: PathBuf,
        /// Its size in bytes.
        needed: u64,
        /// What the file system answered.
        source: io::Error,
    },
    /// Something that belongs to the file besides its content cannot come along.
    #[error("cannot give `{}` the {what} of the original", path.display())]
    Metadata {
        /// What it is: `owner`, `mode`, the name of an attribute...
        what: String,
        /// The new file's place.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Anything else that the system refuses.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// What was tried: `write in`, `flush`...
        what: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl ReplaceError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { refusal, .. } => refusal.hint(),
            Self::Changed { .. } => Some("run the command again when nobody else writes to the file".to_owned()),
            Self::SameFile { .. } => Some("`--in-place` replaces the file itself".to_owned()),
            Self::Output(error) => error.hint().map(str::to_owned),
            Self::Keep { .. } => Some("give `--keep-original` a name that does not exist yet".to_owned()),
            Self::NoRoom { directory, needed, .. } => {
                Some(format!("{needed} bytes are needed in {}; nothing was changed", directory.display()))
            }
            Self::Metadata { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    Some("run as root; or give `-o PATH` for a file of your own".to_owned())
                }
                io::ErrorKind::Unsupported => {
                    Some("its file system cannot hold it; give `-o PATH` on another one".to_owned())
                }
                _ => None,
            },
            Self::Io { path, source, .. } => io_hint(path, source),
            Self::Open { .. } => None,
        }
    }

    /// Sorts the answer to an attempt to make `needed` bytes in `directory`.
    pub(super) fn writing(what: &'static str, directory: &Path, needed: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::NoRoom { directory: directory.to_owned(), needed, source }
            }
            _ => Self::Io { what, path: directory.to_owned(), source },
        }
    }
}

coldstart_hint::hinted!(ReplaceError);

/// By kinds, because errors of temporary files have no number.
fn io_hint(path: &Path, source: &io::Error) -> Option<String> {
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            Some(format!("{} cannot be written; give `-o PATH` elsewhere", path.display()))
        }
        io::ErrorKind::ResourceBusy => {
            let busy = "something is mounted on that very name, so that it cannot be replaced";
            Some(format!("{busy}; give `-o PATH` elsewhere"))
        }
        _ => None,
    }
}
