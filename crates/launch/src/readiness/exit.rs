//! Ready when the first process exits: for compilers, converters, `--version`.
//!
//! There is nothing to watch: the launch polls the program's end in any case.

use super::Watch;
use crate::error::LaunchError;

pub(crate) struct ExitWatch;

impl Watch for ExitWatch {
    fn look(&mut self, _descriptor_ready: bool) -> Result<bool, LaunchError> {
        Ok(false)
    }

    fn is_exit(&self) -> bool {
        true
    }
}
