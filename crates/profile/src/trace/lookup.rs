//! Names looked up by a start.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{FileId, Moment, ProcessId};

/// One look-up of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The time.
    pub at: Moment,
    /// The thread; `None` if unknown.
    pub process: Option<ProcessId>,
    /// The absolute path as requested.
    pub path: PathBuf,
    /// The kind of request.
    pub kind: LookupKind,
    /// The regular file or directory that was found, if the trace lists it.
    pub file: Option<FileId>,
    /// Whether the name did not exist.
    pub failed: bool,
}

/// The kind of request for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookupKind {
    /// Its content.
    Open,
    /// A directory's entries.
    List,
    /// Only its existence and type.
    Ask,
}

impl LookupKind {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::List => "list",
            Self::Ask => "ask",
        }
    }
}
