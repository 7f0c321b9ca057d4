//! The frequency during a measurement.

use std::path::Path;

use coldstart_profile::measurement::Frequency;

use super::error::FrequencyError;
use super::hold::FixedFrequency;
use super::tree::Tree;

/// The frequency at the beginning, and the fixed one.
#[derive(Debug)]
pub(crate) struct FrequencyWatch {
    begin: Option<Frequency>,
    held: Option<FixedFrequency>,
}

impl FrequencyWatch {
    /// Reads the frequency; first fixes it, if requested.
    ///
    /// # Errors
    /// When it cannot be fixed.
    pub(crate) fn begin(root: &Path, hold: bool) -> Result<Self, FrequencyError> {
        let held = hold.then(|| FixedFrequency::hold(root)).transpose()?;
        Ok(Self { begin: Tree::new(root).look(), held })
    }

    /// Reads it again, and restores the settings. Errors do not discard the measurement; they are
    /// recorded in the facts.
    pub(crate) fn end(self, root: &Path) -> Option<Frequency> {
        let mut frequency = self.begin?;
        frequency.at_end = Tree::new(root).current();
        if let Some(held) = self.held {
            frequency.held = held.range();
            let still_held = held.still_held();
            frequency.lost_hold = match (still_held, held.release()) {
                (_, Err(error @ FrequencyError::NotPutBack { .. })) => Some(error.to_string()),
                (Err(FrequencyError::NotTaken { path, wanted, found }), _) => {
                    Some(format!("at the end `{}` was `{found}` instead of `{wanted}`", path.display()))
                }
                _ => None,
            };
        }
        Some(frequency)
    }
}
