//! What a verb tells while it works.

use crate::error::AppError;

/// Told of what happens during a verb. Every method has a default that ignores what it is told.
pub trait Observer: Sync {
    /// `total` items (files, as a rule) will be worked on; `None` while a directory walk has not found them all.
    fn begin(&self, total: Option<usize>) {
        let _ = total;
    }

    /// One more item is done.
    fn step(&self) {}

    /// The items are done.
    fn end(&self) {}

    /// Something could not be done, and the verb goes on with the rest. The outcome counts it or leaves it out.
    fn error(&self, error: AppError) {
        let _ = error;
    }

    /// Something was done in a lesser way or left out. The outcome is true all the same.
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
