//! Ready when the program says so by the protocol of `sd_notify(3)`.

use std::time::Instant;

use super::{Look, Watch};
use crate::error::LaunchError;

pub(crate) struct NotifyWatch;

impl NotifyWatch {
    pub(crate) fn new() -> Self {
        Self
    }
}

impl Watch for NotifyWatch {
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
