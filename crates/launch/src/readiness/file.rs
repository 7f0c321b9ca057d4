//! Ready when a file appears or is written anew.

use std::time::Instant;

use super::{Look, Watch};
use crate::error::LaunchError;

pub(crate) struct FileWatch;

impl FileWatch {
    pub(crate) fn new(_path: std::path::PathBuf) -> Self {
        Self
    }
}

impl Watch for FileWatch {
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
