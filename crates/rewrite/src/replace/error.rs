//! Why a file was not put in place, with its name and a hint.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_output::OutputError;

use super::file_refusal::FileRefusal;

/// Why a file was not rewritten. The target is unchanged in all cases.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The new file did not pass the proof and was discarded.
    #[error(transparent)]
    NotProven(E),
    /// It could not be written or put in place.
    #[error(transparent)]
    NotWritten(#[from] ReplaceError),
}

impl<E> WriteError<E> {
    /// A hint, if there is one.
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
    /// The original cannot be opened or inspected.
    #[error("cannot open `{}`", path.display())]
    Open {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file must not be replaced.
    #[error("cannot replace `{}`: {refusal}", path.display())]
    Refused {
        /// The file that would be replaced.
        path: PathBuf,
        /// The reason.
        refusal: FileRefusal,
    },
    /// Another process changed or replaced the original during the work.
    #[error("`{}` was changed by another process; nothing was written", path.display())]
    Changed {
        /// The original.
        path: PathBuf,
    },
    /// The output is the input.
    #[error("`{}` is the same file as `{}`", path.display(), original.display())]
    SameFile {
        /// The output as given.
        path: PathBuf,
        /// The input as given.
        original: PathBuf,
    },
    /// The output may not be written there.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The original cannot be kept under the given name.
    #[error("cannot keep the original as `{}`: {problem}", path.display())]
    Keep {
        /// The name for the original.
        path: PathBuf,
        /// The reason.
        problem: &'static str,
    },
    /// The disk or a quota is full.
    #[error("no space in `{}` for the new file", directory.display())]
    NoRoom {
        /// Directory of the new file.
        directory: PathBuf,
        /// Its size in bytes.
        needed: u64,
        /// The system error.
        source: io::Error,
    },
    /// Metadata of the original cannot be copied.
    #[error("cannot copy the original's {what} to `{}`", path.display())]
    Metadata {
        /// The kind: `owner`, `mode`, the name of an attribute...
        what: String,
        /// The new file's path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another system error.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// The action: `write in`, `flush`...
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ReplaceError {
    /// A hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { refusal, .. } => refusal.hint(),
            Self::Changed { .. } => Some("run the command again when no other process writes to the file".to_owned()),
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
                    Some("its file system does not support it; give `-o PATH` on another one".to_owned())
                }
                _ => None,
            },
            Self::Io { path, source, .. } => io_hint(path, source),
            Self::Open { .. } => None,
        }
    }

    /// Converts the error of an attempt to write `needed` bytes in `directory`.
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
            let busy = "it is a mount point and cannot be replaced";
            Some(format!("{busy}; give `-o PATH` elsewhere"))
        }
        _ => None,
    }
}
