//! Why a history cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a history cannot be read or written. The file is unchanged after any of these.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The file or its directory is not writable.
    #[error("the history `{path}` cannot be written: {reason}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// The file is not readable.
    #[error("the history `{path}` cannot be read: {reason}")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// Another program was writing until the timeout.
    #[error("the history `{path}` is locked by another program, and still was after {seconds} seconds")]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// The disk is full.
    #[error("the disk with the history `{path}` is full")]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later version of coldstart.
    #[error("the history `{path}` has format {found}; this version of coldstart knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest known format.
        known: i64,
    },
    /// Another kind of file.
    #[error("`{path}` is not a history: {what}")]
    SomethingElse {
        /// The file.
        path: PathBuf,
        /// The actual kind.
        what: String,
    },
    /// Its content is inconsistent.
    #[error("the history `{path}` is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The inconsistency.
        what: String,
    },
    /// An inconsistent measurement.
    #[error("this measurement cannot be kept: {what}")]
    Contradictory {
        /// The inconsistency.
        what: String,
    },
    /// Another error of the database.
    #[error("cannot use the history `{path}`: {reason}")]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        reason: String,
    },
}

impl HistoryError {
    /// Advice.
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
                    "`sqlite3 {path} .recover | sqlite3 {path}.new` recovers what it can; move the damaged file aside \
                     to start a new history; `--no-history` goes without"
                )
            }
            Self::Contradictory { .. } => return None,
            Self::Other { .. } => elsewhere.to_owned(),
        })
    }

    /// Whether only writing fails, and perhaps temporarily: the history can still be read, and measuring
    /// may continue.
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

/// Whether a column contains an unexpected type: text that is not UTF-8, a number instead of text.
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
