//! Progress and notes of a running verb.

use crate::error::AppError;

/// Receives progress, errors and notes of a verb. Every method ignores its arguments by default.
pub trait Observer: Sync {
    /// Work on `total` items (usually files) begins; `None` if a directory walk is not yet finished.
    fn begin(&self, total: Option<usize>) {
        let _ = total;
    }

    /// One more item is done.
    fn step(&self) {}

    /// Work on this many bytes begins.
    fn begin_bytes(&self, total: u64) {
        let _ = total;
    }

    /// So many more bytes are done.
    fn advance(&self, bytes: u64) {
        let _ = bytes;
    }

    /// The items or bytes are done.
    fn end(&self) {}

    /// One item failed, and the verb continues with the rest. The outcome counts the item or omits it.
    fn error(&self, error: AppError) {
        let _ = error;
    }

    /// A fallback was used or a step was skipped. The outcome is still correct.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// What to do about the last note.
    fn hint(&self, text: &str) {
        let _ = text;
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
