//! Why a directory of links cannot be put in place or taken away.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a directory of links cannot be put in place or taken away. What stood there before still stands.
#[derive(Debug, thiserror::Error)]
pub enum FarmError {
    /// Something else stands in its place.
    #[error("`{}` is there already, and is no directory of links that coldstart made", .0.display())]
    NotOurs(PathBuf),
    /// It is another program's.
    #[error("`{}` holds the links of another program, `{}`", directory.display(), program.display())]
    OtherProgram {
        /// The directory.
        directory: PathBuf,
        /// Whose it is.
        program: PathBuf,
    },
    /// Something was put into it.
    #[error("`{}` was not put there by coldstart", .0.display())]
    Foreign(PathBuf),
    /// The directory to put it in is not there.
    #[error("there is no directory `{}` to put the links in", .0.display())]
    NoParent(PathBuf),
    /// Somebody else is at it.
    #[error("somebody else is working on links in `{}`", .0.display())]
    Busy(PathBuf),
    /// Two directories cannot be exchanged.
    #[error("the file system of `{}` cannot exchange two directories at one blow", .0.display())]
    NoExchange(PathBuf),
    /// A link's path would leave the directory.
    #[error("`{0}` cannot be a link's name")]
    LinkName(String),
    /// The system's answer.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// What was done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
}

impl FarmError {
    /// The system's answer, with what was done to which path.
    pub(super) fn system(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System { doing, path, source }
    }

    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotOurs(_) | Self::OtherProgram { .. } => "give another directory with `--farm`".to_owned(),
            Self::Foreign(path) => format!("move `{}` away", path.display()),
            Self::NoParent(path) => {
                format!("make it with `mkdir -p {}`, or give another with `--farm`", path.display())
            }
            Self::Busy(_) => "wait until it is done".to_owned(),
            Self::NoExchange(_) => "take the binding back with `coldstart unbind` first".to_owned(),
            Self::LinkName(_) => return None,
            Self::System { path, source, .. } => match source.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::ROFS) => {
                    "the file system is mounted read-only; give a directory elsewhere with `--farm`".to_owned()
                }
                Some(Errno::NOSPC | Errno::DQUOT) => {
                    "there is no room for links; free some, or give a directory elsewhere with `--farm`".to_owned()
                }
                Some(Errno::ACCESS | Errno::PERM) => format!(
                    "it takes the right to write to `{}`; run it as its owner, or give another directory with `--farm`",
                    path.parent().unwrap_or(path).display()
                ),
                _ => return None,
            },
        })
    }
}

coldstart_hint::hinted!(FarmError);
