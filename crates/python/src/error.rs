//! Errors as exceptions.

use coldstart_app::error::AppError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    coldstart,
    Error,
    PyException,
    "What could not be read or done, as one sentence with its causes; `hint` says what to do, or is None."
);

/// The exception of an error of ours.
pub(crate) fn raised(py: Python<'_>, error: impl Into<AppError>) -> PyErr {
    let error = error.into();
    let exception = Error::new_err(error.sentence());
    let hints = error.hints();
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    // An exception without the attribute would be worse than one with another error inside.
    match exception.value(py).setattr("hint", hint) {
        Ok(()) => exception,
        Err(other) => other,
    }
}
