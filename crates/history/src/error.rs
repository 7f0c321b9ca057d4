//! Why a history cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a history cannot be read or written. None of these changes the file.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The file or its directory may not be written.
    #[error("the history `{path}` cannot be written: {reason}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The file may not be read.
    #[error("the history `{path}` cannot be read: {reason}")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Another program is writing, and did not end in time.
    #[error("the history `{path}` is locked by another program, and still was after {seconds} seconds")]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// There is no room.
    #[error("there is no room on the disk of the history `{path}`")]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// A later version of coldstart has written it.
    #[error("the history `{path}` has format {found}, and this version of coldstart knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The last that is known here.
        known: i64,
    },
    /// Some other file.
    #[error("`{path}` is no history: {what}")]
    SomethingElse {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// Its content contradicts itself.
    #[error("the history `{path}` is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A measurement that cannot be kept because its parts contradict one another.
    #[error("this is no measurement that can be kept: {what}")]
    Contradictory {
        /// What contradicts what.
        what: String,
    },
    /// Anything else the database says.
    #[error("cannot use the history `{path}`: {reason}")]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
}

impl HistoryError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let elsewhere = "`--history-file FILE` keeps it elsewhere, `--no-history` not at all";
        Some(match self {
            Self::NotWritable { .. } | Self::DiskFull { .. } => elsewhere.to_owned(),
            Self::NotReadable { .. } => {
                "only its owner may read a history, unless its permissions were changed; `--history-file FILE` names another"
                    .to_owned()
            }
            Self::Locked { path, .. } => format!("`fuser {}` names the program; {elsewhere}", path.display()),
            Self::Newer { .. } => format!("use that version of coldstart, or another file: {elsewhere}"),
            Self::SomethingElse { .. } => elsewhere.to_owned(),
            Self::Damaged { path, .. } => {
                let path = path.display();
                format!(
                    "`sqlite3 {path} .recover | sqlite3 {path}.new` saves what can be saved; move the damaged file aside \
                     and a new history is begun; `--no-history` goes without"
                )
            }
            Self::Contradictory { .. } => return None,
            Self::Other { .. } => elsewhere.to_owned(),
        })
    }

    /// Whether only writing is hindered, and by something that may pass: what there is can still be read, and measuring
    /// may go on.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::NotWritable { .. } | Self::Locked { .. } | Self::DiskFull { .. })
    }

    pub(crate) fn from_io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::NotWritable { path, reason: error.to_string() },
        }
    }

    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let (path, reason) = (path.to_owned(), error.to_string());
        if is_unreadable_value(error) {
            return Self::Damaged { path, what: reason };
        }
        match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked { path, seconds: crate::open::PATIENCE.as_secs() }
            }
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, reason }
            }
            Some(ErrorCode::NotADatabase) => {
                Self::SomethingElse { path, what: "it is not a SQLite database".to_owned() }
            }
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, what: reason },
            _ => Self::Other { path, reason },
        }
    }
}

coldstart_hint::hinted!(HistoryError);

/// Whether a column holds something that we never write there: text that is not UTF-8, a number in a text's place.
fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}
