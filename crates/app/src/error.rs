//! The error of a verb: one sentence with its causes, and hints.
//!
//! A hint comes from a library's error (`coldstart_hint`) or is added by a verb ([`HintExt::hint`]). Both are in one value, so
//! that a verb can use `?`.

use std::error::Error;

/// An error with the hints for the user.
#[derive(Debug)]
pub struct AppError {
    cause: anyhow::Error,
    hints: Vec<String>,
}

impl AppError {
    /// An error with this text.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { cause: anyhow::Error::msg(sentence.into()), hints: Vec::new() }
    }

    /// An error with a hint.
    pub fn hinted(error: impl Into<Self>, hint: impl Into<String>) -> Self {
        let mut error = error.into();
        error.hints.push(hint.into());
        error
    }

    /// Adds the failed operation as context.
    #[must_use]
    pub fn within(self, doing: String) -> Self {
        Self { cause: self.cause.context(doing), hints: self.hints }
    }

    /// The error itself, then its causes.
    pub fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        self.cause.chain()
    }

    /// All hints without duplicates: the verb's, then those of the libraries' errors.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        for hint in self.hints.iter().cloned().chain(self.cause.chain().filter_map(coldstart_hint::hint_of)) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        hints
    }

    /// Whether the cause is EPIPE.
    pub fn is_broken_pipe(&self) -> bool {
        let is_it = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
        self.cause.chain().filter_map(|cause| cause.downcast_ref()).any(is_it)
    }

    /// The error and its causes in one sentence, without the hints.
    pub fn sentence(&self) -> String {
        sentence(&self.cause)
    }
}

impl<E: Into<anyhow::Error>> From<E> for AppError {
    fn from(cause: E) -> Self {
        Self { cause: cause.into(), hints: Vec::new() }
    }
}

/// Adds a hint to the error of a result.
pub trait HintExt<T> {
    /// Adds a hint: the start of an imperative sentence, without the final full stop.
    ///
    /// # Errors
    /// The error of the result, with the hint.
    fn hint<H: Into<String>>(self, hint: impl FnOnce() -> H) -> Result<T, AppError>;
}

impl<T, E: Into<AppError>> HintExt<T> for Result<T, E> {
    fn hint<H: Into<String>>(self, hint: impl FnOnce() -> H) -> Result<T, AppError> {
        self.map_err(|error| AppError::hinted(error, hint()))
    }
}

/// The error and its causes in one sentence.
///
/// A cause is omitted if its text is already in the sentence: some libraries repeat their source in their own text.
pub fn sentence(error: &anyhow::Error) -> String {
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

    #[test]
    fn advice_of_causes_comes_last_and_once() {
        let directory = || coldstart_sys::named_file::open_regular(std::path::Path::new("/")).map(drop);
        let of_cause = "name a file in it";
        let hints = |result: Result<(), AppError>| result.unwrap_err().hints();
        assert_eq!(hints(directory().context("cannot read").hint(|| "first")), ["first", of_cause]);
        assert_eq!(hints(directory().context("cannot read").hint(|| of_cause)), [of_cause]);
    }
}
