//! The errors that were printed to stderr, kept for the object of `--json`.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// The errors that were printed so far.
static PRINTED: Mutex<Vec<PrintedError>> = Mutex::new(Vec::new());

#[derive(Clone, Debug, Serialize)]
struct PrintedError {
    message: String,
    hints: Vec<String>,
}

/// The errors that were printed, as `--json` has them.
#[derive(Debug, Serialize)]
pub(super) struct PrintedErrors {
    error: PrintedError,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further_errors: Vec<PrintedError>,
}

impl PrintedErrors {
    /// Those that were printed so far; `None` if there were none.
    pub(super) fn so_far() -> Option<Self> {
        let mut errors = PRINTED.lock().unwrap_or_else(PoisonError::into_inner).clone().into_iter();
        Some(Self { error: errors.next()?, further_errors: errors.collect() })
    }
}

/// Keeps an error that was printed, for the object of `--json`.
pub(crate) fn note_error(message: String, hints: Vec<String>) {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner).push(PrintedError { message, hints });
}
