//! Why an image cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_output::OutputError;
use coldstart_profile::printable;

/// Why an image cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file that the image is made of.
    #[error("cannot copy `{}` into the image: {problem}", printable(path))]
    Source {
        /// The file on this machine.
        path: PathBuf,
        /// What is wrong.
        #[source]
        problem: SourceProblem,
    },
    /// The image's own file.
    #[error("cannot write the image: {0}")]
    Image(#[source] io::Error),
    /// The caller ended it.
    #[error("interrupted")]
    Interrupted,
    /// The image's target.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// What is wrong with a file that is to be copied.
#[derive(Debug, thiserror::Error)]
pub enum SourceProblem {
    /// Not what it was when its directory was read.
    #[error("it has changed since the image was begun")]
    Changed,
    /// The system's error.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl WriteError {
    pub(super) fn source(path: &Path, error: io::Error) -> Self {
        Self::Source { path: path.to_owned(), problem: SourceProblem::Io(error) }
    }

    pub(super) fn changed(path: &Path) -> Self {
        Self::Source { path: path.to_owned(), problem: SourceProblem::Changed }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source { problem: SourceProblem::Changed, .. } => {
                Some("try again when nothing changes the files; packages must not be installed meanwhile".to_owned())
            }
            Self::Source { problem: SourceProblem::Io(error), .. }
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                Some("run as root, or leave the file out".to_owned())
            }
            Self::Output(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(WriteError);
