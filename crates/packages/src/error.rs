//! Why the owner of a file is unknown, or why the file cannot be replaced.

use std::io;
use std::path::{Path, PathBuf};

/// Why a package manager gave no answer, or a file was not replaced. The file is whole, and as it was before.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The system's error.
    #[error("cannot {doing} `{}`: {cause}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// A tool of the package manager failed.
    #[error("`{tool}` failed: {message}")]
    Tool {
        /// Its name.
        tool: &'static str,
        /// Its messages, or why it could not be started.
        message: String,
    },
    /// The file belongs to a package manager that cannot be told of a changed file.
    #[error("`{}` belongs to {owner}, and {manager} cannot be told that a file was replaced", path.display())]
    Manager {
        /// The file.
        path: PathBuf,
        /// The manager.
        manager: &'static str,
        /// The package, with its version.
        owner: String,
    },
    /// Another diversion exists.
    #[error("`{}` is already diverted to `{}`", path.display(), to.display())]
    Diverted {
        /// The file.
        path: PathBuf,
        /// Where the package's own file is.
        to: PathBuf,
    },
    /// A link, a directory, a device.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The path is relative.
    #[error("`{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// The name for the original is taken.
    #[error("`{}` already exists", .0.display())]
    NameTaken(PathBuf),
    /// A package manager, or another coldstart, is at work.
    #[error("`{}` is locked by another process", .0.display())]
    Locked(PathBuf),
    /// The file is neither ours nor the original.
    #[error("`{}` is neither the original nor the file that replaced it", .0.display())]
    Foreign(PathBuf),
    /// The original does not exist.
    #[error("the original of `{}` is gone: `{}` does not exist", path.display(), kept.display())]
    OriginalLost {
        /// The file.
        path: PathBuf,
        /// Where its original was.
        kept: PathBuf,
        /// The package that has it.
        package: Option<String>,
    },
    /// dpkg's configuration cannot name a path.
    #[error("`{}` cannot be named in a command that dpkg runs", .0.display())]
    NotForHook(PathBuf),
    /// A record cannot be read.
    #[error("`{}` is not a record of a replaced file: {message}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl PackageError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { doing, path: path.to_owned(), cause }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { cause, .. } => match cause.kind() {
                io::ErrorKind::PermissionDenied => "files of packages can be replaced by root only".to_owned(),
                io::ErrorKind::StorageFull => "free some space there; nothing was changed".to_owned(),
                io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only: use a plan instead".to_owned(),
                _ => return None,
            },
            Self::Tool { .. } => return None,
            Self::Manager { .. } => {
                "write the result elsewhere with `-o` and install that; a plan of `coldstart prefetch` changes no file"
                    .to_owned()
            }
            Self::Diverted { path, .. } => format!("`dpkg-divert --listpackage {}` prints who did it", path.display()),
            Self::NotRegular(_) => "name the file that the link leads to".to_owned(),
            Self::Relative(_) => "name it by its absolute path".to_owned(),
            Self::NameTaken(_) => "move it away: it may be the original of an earlier replacement".to_owned(),
            Self::Locked(_) => "repeat this when the package manager has finished".to_owned(),
            Self::Foreign(_) => {
                "restore it by hand, or reinstall its package; the original is beside it under a hidden name".to_owned()
            }
            Self::OriginalLost { package: Some(package), .. } => format!("`apt reinstall {package}` brings it back"),
            Self::OriginalLost { .. } => "restore it from a backup".to_owned(),
            Self::NotForHook(_) => {
                "install coldstart under an absolute path of letters, digits and `/._-+,:@~`".to_owned()
            }
            Self::Record { .. } => "move the record away".to_owned(),
        })
    }
}

coldstart_hint::hinted!(PackageError);
