//! Why an output is not written, with what would help.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Why an output is not written. What was at its name is as it was.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {refusal}", path.display())]
pub struct OutputError {
    /// The output as it was named.
    pub path: PathBuf,
    /// What stands against it.
    #[source]
    pub refusal: OutputRefusal,
}

/// What stands against writing an output.
#[derive(Debug, thiserror::Error)]
pub enum OutputRefusal {
    /// It is a directory, or the name ends as only a directory's can.
    #[error("it is a directory")]
    Directory,
    /// A device, a pipe, a socket.
    #[error("it is not a regular file")]
    Special,
    /// The command reads it, or writes it as another output.
    #[error("it is {0}")]
    Input(String),
    /// It is no earlier output of the same kind, and `--force` was not given.
    #[error("it is there already, and is not {0}")]
    NotEarlier(&'static str),
    /// It cannot be read, so that it cannot be told what it is.
    #[error("it is there already, and cannot be read to tell what it is: {0}")]
    Unreadable(#[source] io::Error),
    /// Another user has put it where everybody may put files.
    #[error("it belongs to another user, in a directory that everybody may write to")]
    OfAnotherUser,
    /// A directory on the way to it is a symbolic link that another user has put where everybody may put links.
    #[error("`{}` on the way to it is a symbolic link of another user, in a directory that everybody may write to", .0.display())]
    LinkOfAnotherUser(PathBuf),
    /// The system's answer.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl OutputError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<&'static str> {
        self.refusal.hint()
    }
}

coldstart_hint::hinted!(OutputError);

impl OutputRefusal {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Directory => Some("name a file in it"),
            Self::Special => Some("name a file; what is there stays as it is"),
            Self::Input(_) => Some("name another file"),
            Self::NotEarlier(_) | Self::Unreadable(_) => Some("name another file; `--force` writes over this one"),
            Self::OfAnotherUser | Self::LinkOfAnotherUser(_) => Some("name a file in a directory of your own"),
            Self::Io(error) => hint_of(error.kind()),
        }
    }
}

/// What helps against the system's refusal to write.
fn hint_of(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make its directory first, or name a file in another one",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "name a file in a directory that you may write to"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or name a file on another disk",
        ErrorKind::FileTooLarge => "files may not become that large there (`ulimit -f`): name a file on another disk",
        ErrorKind::InvalidFilename => "name it shorter",
        ErrorKind::IsADirectory => "name a file in it",
        _ => return None,
    })
}
