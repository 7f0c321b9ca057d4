//! Why a survey cannot be made.

use std::io;
use std::path::PathBuf;

use coldstart_oci::OciError;
use coldstart_profile::printable;

/// Why a survey cannot be made. Files that cannot be read are no errors but rows of the table `problems`.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// A source cannot be read.
    #[error("cannot survey `{}`", printable(path))]
    Source {
        /// The source.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A source is no directory, package or image.
    #[error("cannot survey `{}`: it is not a directory, a .deb or .rpm package, a squashfs image, an AppImage or an ELF file", printable(.0))]
    UnknownSource(PathBuf),
    /// An OCI layout cannot be read.
    #[error(transparent)]
    Layout(#[from] OciError),
    /// The directory holds something else.
    #[error("cannot write a survey to `{}`: {reason}", printable(path))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong, as a clause.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// A file of the survey cannot be read or written.
    #[error("cannot {doing} `{}`", printable(path))]
    Io {
        /// "write", "read".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The owners of files cannot be found out.
    #[error("cannot find out which packages own the files of `{}`", printable(path))]
    Packages {
        /// The root file system.
        path: PathBuf,
        /// The package manager's error.
        source: coldstart_packages::PackageError,
    },
    /// A table of a survey cannot be read.
    #[error("cannot read `{}`", printable(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Parquet's error.
        source: parquet::errors::ParquetError,
    },
    /// A table has other columns.
    #[error("cannot read `{}`: it has another schema than {}", printable(.0), coldstart_tables::VERSION)]
    Schema(PathBuf),
    /// A table cannot be written.
    #[error("cannot write `{}`", printable(path))]
    Table {
        /// The file.
        path: PathBuf,
        /// Parquet's error.
        source: parquet::errors::ParquetError,
    },
}

impl SurveyError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Directory { hint, .. } => Some((*hint).to_owned()),
            Self::UnknownSource(_) => Some("name a directory for all files below it".to_owned()),
            Self::Table { .. } | Self::Io { doing: "write", .. } => {
                Some("repeat the command when there is room: shards that are done are kept".to_owned())
            }
            Self::Unreadable { .. } | Self::Schema(_) => {
                Some("repeat the survey into the same directory: damaged shards are made again".to_owned())
            }
            _ => None,
        }
    }
}

coldstart_hint::hinted!(SurveyError);
