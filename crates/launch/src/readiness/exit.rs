//! Ready when the first process exits: for compilers, converters, `--version`.
//!
//! Nothing to watch: the launch polls the program's end in any case.

use std::time::Instant;

use super::{Look, Watch};
use crate::error::LaunchError;

pub(crate) struct ExitWatch;

impl Watch for ExitWatch {
    fn look(&mut self, _look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        Ok(None)
    }

    fn is_exit(&self) -> bool {
        true
    }
}
