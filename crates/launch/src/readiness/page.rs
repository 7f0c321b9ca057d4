//! Ready when a page of ours is loaded.

use std::time::Instant;

use super::{Look, Watch};
use crate::error::LaunchError;

pub(crate) struct PageWatch;

impl PageWatch {
    pub(crate) fn new() -> Self {
        Self
    }
}

impl Watch for PageWatch {
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
