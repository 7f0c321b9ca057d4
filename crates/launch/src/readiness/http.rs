//! Ready when a GET request is answered with a status of 2xx.

use std::time::Instant;

use super::{Look, ReadinessError, Watch};
use crate::error::LaunchError;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(String);

impl HttpUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`ReadinessError::Url`].
    pub fn parse(text: &str) -> Result<Self, ReadinessError> {
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Display for HttpUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

pub(crate) struct HttpWatch;

impl HttpWatch {
    pub(crate) fn new(_url: HttpUrl) -> Self {
        Self
    }
}

impl Watch for HttpWatch {
    fn prepare(&mut self, _command: &mut std::process::Command) -> Result<(), LaunchError> {
        Err(LaunchError::system(
            "wait for this kind of readiness",
            std::io::Error::from(std::io::ErrorKind::Unsupported),
        ))
    }

    fn look(&mut self, _look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        Ok(None)
    }
}
