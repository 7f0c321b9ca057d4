//! Why an output cannot be written, with advice.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Why an output cannot be written. The file at that path is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {refusal}", path.display())]
pub struct OutputError {
    /// The output's path as given.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub refusal: OutputRefusal,
}

/// Reason for refusing an output.
#[derive(Debug, thiserror::Error)]
pub enum OutputRefusal {
    /// A directory, or a path that can only be one (trailing slash).
    #[error("it is a directory")]
    Directory,
    /// A device, a pipe, a socket.
    #[error("it is not a regular file")]
    Special,
    /// The command reads it, or writes it as another output.
    #[error("it is {0}")]
    Input(String),
    /// Not an earlier output of the same kind, and `--force` was not given.
    #[error("it already exists and is not {0}")]
    NotEarlier(&'static str),
    /// It cannot be read, so its kind is unknown.
    #[error("it already exists and cannot be read to see what it is: {0}")]
    Unreadable(#[source] io::Error),
    /// It belongs to another user, in a world-writable directory.
    #[error("it belongs to another user, in a world-writable directory")]
    OfAnotherUser,
    /// Its path leads through a symbolic link of another user, in a world-writable directory.
    #[error("its path leads through `{}`, a symbolic link of another user in a world-writable directory", .0.display())]
    LinkOfAnotherUser(PathBuf),
    /// Its path leads through a symbolic link that another user can exchange, out of that user's directories.
    #[error("its path leads through `{}`, a symbolic link of another user that leads out of that user's directories", .0.display())]
    LinkLeadsOut(PathBuf),
    /// The system's error.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl OutputError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        self.refusal.hint()
    }
}

coldstart_hint::hinted!(OutputError);

impl OutputRefusal {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Directory => Some("name a file in it"),
            Self::Special => Some("name a regular file; this one was not changed"),
            Self::Input(_) => Some("name another file"),
            Self::NotEarlier(_) | Self::Unreadable(_) => Some("name another file; `--force` overwrites this one"),
            Self::OfAnotherUser | Self::LinkOfAnotherUser(_) => Some("name a file in a directory of your own"),
            Self::LinkLeadsOut(_) => Some("name the directory itself, without the link, if that is where it is to go"),
            Self::Io(error) => hint_of(error.kind()),
        }
    }
}

/// Advice for a system error on writing.
fn hint_of(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "create its directory first, or name a file in another one",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "name a file in a directory that you may write to"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space there, or name a file on another disk",
        ErrorKind::FileTooLarge => {
            "files that large are not permitted there (`ulimit -f`): name a file on another disk"
        }
        ErrorKind::InvalidFilename => "use a shorter name",
        ErrorKind::IsADirectory => "name a file in it",
        _ => return None,
    })
}
