//! Why a file is refused, as data for scripts.

use coldstart_rewrite::{FileRefusal, Refusal};
use serde::Serialize;

/// Why a given file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// A short name for scripts.
    pub code: &'static str,
    /// The reason as a clause.
    pub reason: String,
    /// A hint.
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
