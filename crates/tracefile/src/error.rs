//! Why a trace file cannot be written, read or asked.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_output::{OutputError, OutputRefusal};
use coldstart_profile::trace::Moment;
use rusqlite::ErrorCode;
use thiserror::Error;

/// Why a trace file cannot be written, read or asked. Reading never changes the file.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// It is not there, or may not be read.
    #[error("the trace `{path}` cannot be read: {source}")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// It or its directory may not be written; nothing was changed.
    #[error("the trace `{path}` cannot be written: {source}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The place was not for it; nothing was changed.
    #[error(transparent)]
    NotPlaced(#[from] OutputError),
    /// The disk was full before the first event; nothing is left of it, and what stood there before is there still.
    #[error("the trace `{path}` cannot be written: not even its first events have room: {source}")]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The disk became full. What had room is in the file, which can be read.
    #[error(
        "the trace `{path}` is incomplete: it holds {events_kept} of {events_total} events, up to {until}, then the \
         writing broke off: {source}"
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
    /// There is nothing in it.
    #[error("the trace `{path}` is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Some other file.
    #[error("`{path}` is no trace: {what}")]
    SomethingElse {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A later version of coldstart has written it.
    #[error("the trace `{path}` has format {found}, and this version of coldstart knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The last that is known here.
        known: u32,
    },
    /// Another program has begun to change it and has not ended.
    #[error("the trace `{path}` is being changed by another program: `{journal}` stands beside it")]
    BeingChanged {
        /// The file.
        path: PathBuf,
        /// The journal or log of changes.
        journal: PathBuf,
    },
    /// Its content contradicts itself.
    #[error("the trace `{path}` is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// The question is not SQL, or names what is not there.
    #[error("the question cannot be answered: {reason}")]
    Question {
        /// SQLite's words.
        reason: String,
    },
    /// There are several statements, or none.
    #[error("one SELECT at a time: the question has {found}")]
    NotOneStatement {
        /// "several statements" or "no statement".
        found: &'static str,
    },
    /// The question would change something, or reach outside of the file.
    #[error("only questions are allowed, and this would {what}")]
    NotAQuestion {
        /// What it would do.
        what: String,
    },
    /// The answer took longer than allowed.
    #[error("the question was not answered within {limit:?}")]
    TooSlow {
        /// The time that was allowed.
        limit: Duration,
    },
    /// Somebody interrupted the answer.
    #[error("the question was interrupted")]
    Interrupted,
    /// Anything else that the database says.
    #[error("cannot use the trace `{path}`: {reason}")]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
}

impl TraceFileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let again = "record it again with `coldstart trace -o FILE.coldtrace -- PROGRAM`";
        Some(match self {
            Self::NotReadable { source, .. } if source.kind() == io::ErrorKind::NotFound => again.to_owned(),
            Self::NotReadable { .. } => return None,
            Self::NotPlaced(OutputError { refusal: OutputRefusal::Io(_), .. })
            | Self::NotWritable { .. }
            | Self::NoRoom { .. } => "`-o FILE` writes it elsewhere".to_owned(),
            Self::NotPlaced(error) => error.hint()?.to_owned(),
            Self::Incomplete { .. } => {
                "what is there can be shown; for the whole make room, or write it elsewhere with `-o FILE`, and record again"
                    .to_owned()
            }
            Self::Empty { .. } => again.to_owned(),
            Self::SomethingElse { .. } => format!("a trace is what `coldstart trace` wrote; {again}"),
            Self::Newer { .. } => "use that version of coldstart, or a later one".to_owned(),
            Self::BeingChanged { path, .. } => {
                let path = path.display();
                format!("end that program; if there is none, `sqlite3 {path} 'PRAGMA journal_mode = delete'` tidies up")
            }
            Self::Damaged { path, .. } => {
                let path = path.display();
                format!("`sqlite3 {path} .recover | sqlite3 {path}.new` saves what can be asked with SQL; {again}")
            }
            Self::Question { .. } => {
                "`SELECT name, sql FROM sqlite_schema` lists the tables and views; docs/formats/trace.md explains them".to_owned()
            }
            Self::NotOneStatement { .. } => "give one SELECT, without anything behind its semicolon".to_owned(),
            Self::NotAQuestion { .. } => "a copy of the file can be changed with `sqlite3 COPY`".to_owned(),
            Self::TooSlow { .. } => "ask for less, or read the tables rather than the views, whose names take looking up".to_owned(),
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
