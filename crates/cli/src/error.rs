//! The error a user sees: one sentence with its causes, then advice.
//!
//! ```text
//! error: cannot read what is cached of `app`: No such file or directory (os error 2)
//! hint: ...
//! ```
//!
//! With `--json` stdout has one object in any case: the verb's result, or, where an error kept the verb from printing any,
//! what [`print_as_json`] makes of all errors that were printed.
//!
//! Advice comes from two places: a library's error knows some (`hint()` on its type), and a verb may add what only it
//! knows ([`HintExt::hint`]). Both travel in one value, so that a verb just uses `?`.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::exit::Exit;
use crate::output::text::escaped;
use crate::output::{self, style};

/// An error on its way to the user, with the advice collected on the way.
#[derive(Debug)]
pub(crate) struct CliError {
    cause: anyhow::Error,
    hints: Vec<String>,
}

impl CliError {
    /// Prints the error and its hints to stderr and says what to exit with.
    ///
    /// A reader that closed our stdout (`| head`) has seen enough: nothing is printed and nothing went wrong.
    pub(crate) fn report(&self) -> Exit {
        if self.cause.chain().any(|cause| cause.is::<output::ReaderLeft>()) {
            return Exit::Done;
        }
        if self.cause.chain().any(was_interrupted) {
            return Exit::Interrupted;
        }
        let (sentence, hints) = (self.sentence(), self.all_hints());
        output::complain(&style::ERROR, "error", &escaped(&sentence));
        for hint in &hints {
            output::hint(&escaped(hint));
        }
        note_error(sentence, hints);
        Exit::Broken
    }
}

impl CliError {
    /// What was being done, put in front.
    pub(crate) fn within(self, doing: String) -> Self {
        Self { cause: self.cause.context(doing), hints: self.hints }
    }

    fn all_hints(&self) -> Vec<String> {
        self.hints.iter().cloned().chain(self.cause.chain().filter_map(library_hint)).collect()
    }

    /// Whether the reader of a pipe has left.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let is_it = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
        self.cause.chain().filter_map(|cause| cause.downcast_ref()).any(is_it)
    }

    /// The error and its causes in one sentence, without the hints.
    pub(crate) fn sentence(&self) -> String {
        sentence(&self.cause)
    }
}

/// Errors of a verb that goes on after one: each is printed as it comes, each hint once, at the end.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    count: u64,
    hints: Vec<String>,
}

impl Complaints {
    /// Prints an error and keeps its hints for later.
    pub(crate) fn add(&mut self, error: impl Into<CliError>) {
        let error = error.into();
        self.count += 1;
        let (sentence, hints) = (error.sentence(), error.all_hints());
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

    /// Prints the hints, and says what to exit with: broken if there was any error.
    pub(crate) fn finish(self) -> Exit {
        for hint in &self.hints {
            output::hint(&escaped(hint));
        }
        if self.count > 0 { Exit::Broken } else { Exit::Done }
    }
}

/// The errors that were printed so far.
static PRINTED: Mutex<Vec<PrintedError>> = Mutex::new(Vec::new());

#[derive(Clone, Debug, Serialize)]
struct PrintedError {
    message: String,
    hints: Vec<String>,
}

/// The errors that were printed, as `--json` has them.
#[derive(Debug, Serialize)]
pub(crate) struct PrintedErrors {
    error: PrintedError,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further_errors: Vec<PrintedError>,
}

impl PrintedErrors {
    /// Those that were printed so far; `None` if there were none.
    pub(crate) fn so_far() -> Option<Self> {
        let mut errors = PRINTED.lock().unwrap_or_else(PoisonError::into_inner).clone().into_iter();
        Some(Self { error: errors.next()?, further_errors: errors.collect() })
    }
}

/// Keeps an error that was printed, for the object of `--json`.
pub(crate) fn note_error(message: String, hints: Vec<String>) {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner).push(PrintedError { message, hints });
}

/// Prints the errors of a verb with `--json` to stdout as one object, unless the verb has printed its own.
pub(crate) fn print_as_json() {
    #[derive(Serialize)]
    struct NoResult {}

    if !output::has_result() {
        // They stand on stderr already, and so does what is wrong with stdout.
        let _ = output::json::print("coldstart.error/1", &NoResult {});
    }
}

impl<E: Into<anyhow::Error>> From<E> for CliError {
    fn from(cause: E) -> Self {
        Self { cause: cause.into(), hints: Vec::new() }
    }
}

/// Adds advice to the error of a result.
pub(crate) trait HintExt<T> {
    /// Adds the advice that `hint` makes; a whole sentence's start, without the final full stop.
    fn hint<H: Into<String>>(self, hint: impl FnOnce() -> H) -> Result<T, CliError>;
}

impl<T, E: Into<CliError>> HintExt<T> for Result<T, E> {
    fn hint<H: Into<String>>(self, hint: impl FnOnce() -> H) -> Result<T, CliError> {
        self.map_err(|error| {
            let mut error: CliError = error.into();
            error.hints.push(hint().into());
            error
        })
    }
}

/// The error and its causes in one sentence.
///
/// A cause whose text already stands in the sentence is left out: some libraries repeat their source in their own text.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut sentence = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if sentence.is_empty() {
            sentence = cause;
        } else if !sentence.contains(&cause) {
            sentence = format!("{sentence}: {cause}");
        }
    }
    sentence
}

/// Whether a signal ended the work: the user knows, and a message would only stand in the way.
fn was_interrupted(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(coldstart_launch::LaunchError::Interrupted { .. }))
}

/// The advice that a library's error carries. Each library's error type has its line here.
pub(crate) fn library_hint(cause: &(dyn Error + 'static)) -> Option<String> {
    let launch = || cause.downcast_ref::<coldstart_launch::LaunchError>()?.hint();
    let pagecache = || cause.downcast_ref::<coldstart_pagecache::Error>()?.hint();
    let measure = || cause.downcast_ref::<coldstart_measure::MeasureError>()?.hint();
    let saved = || Some(cause.downcast_ref::<coldstart_pagecache::SavedError>()?.hint()?.to_owned());
    let replace = || cause.downcast_ref::<coldstart_rewrite::ReplaceError>()?.hint();
    let farm = || cause.downcast_ref::<coldstart_bind::FarmError>()?.hint();
    let output = || Some(cause.downcast_ref::<coldstart_output::OutputError>()?.hint()?.to_owned());
    let trace = || cause.downcast_ref::<coldstart_tracefile::TraceFileError>()?.hint();
    let map = || cause.downcast_ref::<coldstart_view::map::MapError>()?.hint();
    let named = || cause.downcast_ref().and_then(coldstart_sys::named_file::hint).map(str::to_owned);
    let work = || crate::commands::inspect_hint(cause).or_else(|| crate::commands::rewriting_hint(cause));
    pagecache()
        .or_else(saved)
        .or_else(launch)
        .or_else(measure)
        .or_else(replace)
        .or_else(farm)
        .or_else(output)
        .or_else(trace)
        .or_else(map)
        .or_else(named)
        .or_else(work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn causes_are_told_once_and_in_order() {
        let cause = std::io::Error::other("disk on fire");
        let error = Err::<(), _>(cause).context("cannot read `a`: disk on fire").context("cannot show").unwrap_err();
        assert_eq!(sentence(&error), "cannot show: cannot read `a`: disk on fire");
    }

    #[test]
    fn hints_gather_on_the_way_up() {
        let result: Result<(), _> = Err(std::io::Error::other("no")).hint(|| "first").hint(|| "second");
        assert_eq!(result.unwrap_err().hints, ["first", "second"]);
    }
}
