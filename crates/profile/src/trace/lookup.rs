//! File names that a start looked up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{FileId, Moment, ProcessId};

/// One lookup of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The time.
    pub at: Moment,
    /// The process; `None` if it is unknown.
    pub process: Option<ProcessId>,
    /// The absolute path as requested.
    pub path: PathBuf,
    /// The kind of lookup.
    pub kind: LookupKind,
    /// The regular file or directory that was found, if the trace lists it.
    pub file: Option<FileId>,
    /// Whether it was not found.
    pub failed: bool,
}

/// The kind of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookupKind {
    /// Its content.
    Open,
    /// A directory's entries.
    List,
    /// Only whether and what it is.
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
