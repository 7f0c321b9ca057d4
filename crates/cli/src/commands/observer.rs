//! Notes and progress of verbs, on stderr.

use std::sync::{Mutex, PoisonError};

use coldstart_app::observer::Observer;
use indicatif::ProgressBar;

use super::progress::{counting, counting_bytes};
use crate::error::{CliError, Complaints};
use crate::output;

/// Prints notes and hints as they come, and shows no progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal;

impl Observer for Terminal {
    fn note(&self, text: &str) {
        output::note(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }
}

/// Prints notes and hints as they come, and counts files.
#[derive(Default)]
pub(crate) struct Console {
    bar: Mutex<Option<ProgressBar>>,
    complaints: Mutex<Complaints>,
}

impl Console {
    /// Whether there were errors.
    pub(crate) fn has_errors(&self) -> bool {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).count() > 0
    }

    /// The errors.
    pub(crate) fn into_complaints(self) -> Complaints {
        self.complaints.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Console {
    fn begin(&self, total: Option<usize>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(counting(total));
    }

    fn step(&self) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.inc(1);
        }
    }

    fn begin_bytes(&self, total: u64) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(counting_bytes(total));
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.inc(bytes);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn error(&self, error: CliError) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).add(error);
    }

    fn note(&self, text: &str) {
        output::note(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }
}
