//! File names that a start looked up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{FileId, Moment, ProcessId};

/// One question about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// When.
    pub at: Moment,
    /// By whom; `None` where that is not known any more.
    pub process: Option<ProcessId>,
    /// The absolute path as asked for.
    pub path: PathBuf,
    /// What was asked.
    pub kind: LookupKind,
    /// The regular file or directory that it means, where the trace has it in its list.
    pub file: Option<FileId>,
    /// Whether there was nothing of that name.
    pub failed: bool,
}

/// What was asked of a name.
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
