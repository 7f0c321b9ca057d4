//! Why a link directory cannot be written or removed.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_output::OutputRefusal;
use rustix::io::Errno;

/// Why a link directory cannot be written or removed. The previous state is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FarmError {
    /// Something else exists at its path.
    #[error("`{}` exists and is not a link directory made by coldstart", .0.display())]
    NotOurs(PathBuf),
    /// It belongs to another program.
    #[error("`{}` contains the links of another program, `{}`", directory.display(), program.display())]
    OtherProgram {
        /// The directory.
        directory: PathBuf,
        /// Its program.
        program: PathBuf,
    },
    /// A file was added to it.
    #[error("`{}` was not created by coldstart", .0.display())]
    Foreign(PathBuf),
    /// Its parent directory does not exist.
    #[error("no such directory: `{}` (parent of the link directory)", .0.display())]
    NoParent(PathBuf),
    /// The way to its parent directory is another user's.
    #[error("cannot use `{}`: {refusal}", parent.display())]
    Parent {
        /// The parent directory.
        parent: PathBuf,
        /// Why not.
        refusal: OutputRefusal,
    },
    /// Another process holds the lock.
    #[error("another process is changing links in `{}`", .0.display())]
    Busy(PathBuf),
    /// Two directories cannot be swapped.
    #[error("the file system of `{}` cannot atomically swap two directories", .0.display())]
    NoExchange(PathBuf),
    /// A link's path would leave the directory.
    #[error("`{0}` is not a valid link name")]
    LinkName(String),
    /// A system error.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// The action.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl FarmError {
    /// A system error with the action and the path.
    pub(super) fn system(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::System { doing, path, source }
    }

    /// A hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotOurs(_) | Self::OtherProgram { .. } => "give another directory with `--farm`".to_owned(),
            Self::Foreign(path) => format!("move `{}` away", path.display()),
            Self::NoParent(path) => {
                format!("make it with `mkdir -p {}`, or give another with `--farm`", path.display())
            }
            Self::Parent { refusal, .. } => return refusal.hint().map(str::to_owned),
            Self::Busy(_) => "wait until it has finished".to_owned(),
            Self::NoExchange(_) => "run `coldstart unbind` first".to_owned(),
            Self::LinkName(_) => return None,
            Self::System { path, source, .. } => match source.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::ROFS) => {
                    "the file system is mounted read-only; give another directory with `--farm`".to_owned()
                }
                Some(Errno::NOSPC | Errno::DQUOT) => {
                    "the file system is full; free space, or give another directory with `--farm`".to_owned()
                }
                Some(Errno::ACCESS | Errno::PERM) => format!(
                    "`{}` is not writable; run as its owner, or give another directory with `--farm`",
                    path.parent().unwrap_or(path).display()
                ),
                _ => return None,
            },
        })
    }
}

coldstart_hint::hinted!(FarmError);
