//! Why a file is left as it is, as data for scripts.

use coldstart_rewrite::{FileRefusal, Refusal};
use serde::Serialize;

/// Why a file is left as it is, although it was meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// A short name for scripts.
    pub code: &'static str,
    /// What stands in the way, as a clause.
    pub reason: String,
    /// What would help.
    pub hint: Option<String>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code(), reason: refusal.to_string(), hint: refusal.hint() }
    }
}

impl From<FileRefusal> for Refused {
    fn from(refusal: FileRefusal) -> Self {
        Self { code: refusal.code(), reason: refusal.to_string(), hint: refusal.hint() }
    }
}
