//! What can go wrong with following, apart from what handlers do.

use std::io;

/// The kernel refused a request that following needs. Threads that were killed meanwhile are not an error.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct FollowError {
    /// What was tried, as an infinitive.
    pub what: &'static str,
    /// The kernel's answer.
    pub source: io::Error,
}

impl FollowError {
    /// For [`Result::map_err`].
    pub(crate) fn to(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { what, source }
    }
}

/// For handlers whose errors are the kernel's answers alone.
impl From<FollowError> for io::Error {
    fn from(error: FollowError) -> Self {
        error.source
    }
}
