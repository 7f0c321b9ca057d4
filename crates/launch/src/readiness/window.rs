//! Ready when the first window is mapped.

use std::time::Instant;

use super::{Look, Watch};
use crate::error::LaunchError;

pub(crate) struct WindowWatch;

impl WindowWatch {
    pub(crate) fn new(_display: Option<String>) -> Self {
        Self
    }
}

impl Watch for WindowWatch {
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
