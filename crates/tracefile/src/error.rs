//! Why a trace file cannot be written, read or queried.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_output::{OutputError, OutputRefusal};
use coldstart_profile::trace::Moment;
use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a trace file cannot be written, read or queried. Reading never changes the file.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// Missing or not readable.
    #[error("cannot read the trace `{path}`: {source}")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The file or its directory is not writable; nothing was changed.
    #[error("cannot write the trace `{path}`: {source}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The path must not be replaced; nothing was changed.
    #[error(transparent)]
    NotPlaced(#[from] OutputError),
    /// The disk was full before the first event; the new file was removed, and an earlier one is unchanged.
    #[error("cannot write the trace `{path}`: no space even for its first events: {source}")]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The disk became full, and what had room is not readable; the new file was removed, and an earlier one is unchanged.
    #[error("cannot write the trace `{path}`: {source}, and the events that had room cannot be read back ({damage})")]
    NotKept {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: String,
        /// What the disk said.
        source: io::Error,
    },
    /// The disk became full. The file contains the events that fit, and is readable.
    #[error(
        "the trace `{path}` is incomplete: {events_kept} of {events_total} events were written, up to {until}: {source}"
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// How many events are in it.
        events_kept: u64,
        /// How many there were.
        events_total: u64,
        /// The last event that is in it.
        until: Moment,
        /// What the disk said.
        source: io::Error,
    },
    /// Empty file.
    #[error("the trace `{path}` is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Another kind of file.
    #[error("`{path}` is not a trace: {what}")]
    SomethingElse {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// Written by a later version of coldstart.
    #[error("the trace `{path}` has format {found}; this version of coldstart supports formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The last that is known here.
        known: u32,
    },
    /// Another program has an open write transaction.
    #[error("another program is changing the trace `{path}`: `{journal}` exists")]
    BeingChanged {
        /// The file.
        path: PathBuf,
        /// The journal or log of changes.
        journal: PathBuf,
    },
    /// Its content is inconsistent.
    #[error("the trace `{path}` is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// The query is not SQL, or refers to unknown tables or columns.
    #[error("the query failed: {reason}")]
    Question {
        /// SQLite's words.
        reason: String,
    },
    /// Several statements, or none.
    #[error("expected one SELECT, found {found}")]
    NotOneStatement {
        /// "several statements" or "no statement".
        found: &'static str,
    },
    /// The query would write, or access other files.
    #[error("only read-only queries are allowed; this would {what}")]
    NotAQuestion {
        /// What it would do.
        what: String,
    },
    /// The query exceeded its time limit.
    #[error("the query exceeded its time limit of {limit:?}")]
    TooSlow {
        /// The time that was allowed.
        limit: Duration,
    },
    /// The query was interrupted.
    #[error("the query was interrupted")]
    Interrupted,
    /// Another database error.
    #[error("cannot use the trace `{path}`: {reason}")]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
}

impl TraceFileError {
    /// A hint.
    pub fn hint(&self) -> Option<String> {
        let again = "record it again with `coldstart trace -o FILE.coldtrace -- PROGRAM`";
        Some(match self {
            Self::NotReadable { source, .. } if source.kind() == io::ErrorKind::NotFound => again.to_owned(),
            Self::NotReadable { .. } => return None,
            Self::NotPlaced(OutputError { refusal: OutputRefusal::Io(_), .. })
            | Self::NotWritable { .. }
            | Self::NoRoom { .. }
            | Self::NotKept { .. } => "`-o FILE` writes it elsewhere".to_owned(),
            Self::NotPlaced(error) => error.hint()?.to_owned(),
            Self::Incomplete { .. } => {
                "the file can be shown as it is; for the complete trace, free space or use `-o FILE` elsewhere, and record again"
                    .to_owned()
            }
            Self::Empty { .. } => again.to_owned(),
            Self::SomethingElse { .. } => format!("a trace is a file written by `coldstart trace`; {again}"),
            Self::Newer { .. } => "use that version of coldstart, or a later one".to_owned(),
            Self::BeingChanged { path, .. } => {
                let path = path.display();
                format!("end that program; if there is none, clean up with `sqlite3 {path} 'PRAGMA journal_mode = delete'`")
            }
            Self::Damaged { path, .. } => {
                let path = path.display();
                format!("`sqlite3 {path} .recover | sqlite3 {path}.new` saves what can be asked with SQL; {again}")
            }
            Self::Question { .. } => {
                "`SELECT name, sql FROM sqlite_schema` lists the tables and views; docs/formats/trace.md explains them".to_owned()
            }
            Self::NotOneStatement { .. } => "give one SELECT, with nothing after its semicolon".to_owned(),
            Self::NotAQuestion { .. } => "a copy of the file can be changed with `sqlite3 COPY`".to_owned(),
            Self::TooSlow { .. } => "narrow the query, or read the tables instead of the views".to_owned(),
            Self::Interrupted | Self::Other { .. } => return None,
        })
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }

    /// What SQLite says of a file that is read.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::SomethingElse { path, what: "it is not SQLite database".to_owned() },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
                Self::NotReadable { path, source: io::Error::other(reason) }
            }
            Some(ErrorCode::OutOfMemory) => Self::Other { path, reason },
            // All that we ask is in this crate: it fails because the file has not what we wrote there.
            _ => Self::Damaged { path, what: reason },
        }
    }
}

coldstart_hint::hinted!(TraceFileError);
