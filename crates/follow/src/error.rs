//! Errors of tracing itself, apart from those of handlers.

use std::io;

/// The kernel refused a required request. Threads killed meanwhile are not an error.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct FollowError {
    /// The action, as an infinitive.
    pub what: &'static str,
    /// The kernel's error.
    pub source: io::Error,
}

impl FollowError {
    /// For [`Result::map_err`].
    pub(crate) fn to(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { what, source }
    }
}

/// For handlers whose errors are all from the kernel.
impl From<FollowError> for io::Error {
    fn from(error: FollowError) -> Self {
        error.source
    }
}
