//! Printing errors: one sentence with its causes, then hints.
//!
//! ```text
//! error: cannot read what is cached of `app`: No such file or directory (os error 2)
//! hint: ...
//! ```
//!
//! With `--json` stdout has one object in any case: the verb's result, or, where an error kept the verb from printing any,
//! what [`crate::output::json::print_errors`] makes of all errors that were printed.

use std::error::Error;

pub(crate) use coldstart_app::error::{AppError as CliError, HintExt};

use crate::exit::Exit;
use crate::output::printed::note_error;
use crate::output::text::escaped;
use crate::output::{self, style};

/// Prints the error and its hints to stderr, and returns the exit code.
///
/// A closed stdout (`| head`) is not an error, and nothing is printed.
pub(crate) fn report(error: &CliError) -> Exit {
    if error.chain().any(|cause| cause.is::<output::ReaderLeft>()) {
        return Exit::Done;
    }
    if error.chain().any(was_interrupted) {
        return Exit::Interrupted;
    }
    let (sentence, hints) = (error.sentence(), error.hints());
    output::complain(&style::ERROR, "error", &escaped(&sentence));
    for hint in &hints {
        output::hint(&escaped(hint));
    }
    note_error(sentence, hints);
    Exit::Broken
}

/// Errors of a verb that continues after errors: each is printed at once, each hint once at the end.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    count: u64,
    hints: Vec<String>,
}

impl Complaints {
    /// Prints an error and keeps its hints for later.
    pub(crate) fn add(&mut self, error: impl Into<CliError>) {
        self.tell(&error.into());
    }

    /// The same by reference.
    pub(crate) fn tell(&mut self, error: &CliError) {
        self.count += 1;
        let (sentence, hints) = (error.sentence(), error.hints());
        output::complain(&style::ERROR, "error", &escaped(&sentence));
        for hint in &hints {
            if !self.hints.contains(hint) {
                self.hints.push(hint.clone());
            }
        }
        note_error(sentence, hints);
    }

    /// Number of errors so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Prints the hints, and returns the exit code: broken if there was any error.
    pub(crate) fn finish(self) -> Exit {
        for hint in &self.hints {
            output::hint(&escaped(hint));
        }
        if self.count > 0 { Exit::Broken } else { Exit::Done }
    }
}

/// Whether a signal ended the work, which needs no message.
fn was_interrupted(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(coldstart_launch::LaunchError::Interrupted { .. }))
}
