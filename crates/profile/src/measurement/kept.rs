//! A stored measurement, with the data that identifies its subject later.

use serde::{Deserialize, Serialize};

use super::{Measurement, ProgramIdentity};

/// A measurement that is kept, in a history or as JSON. What an older JSON lacks is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptMeasurement {
    /// Tells it from all others, wherever it is kept: taken in twice, it is one.
    #[serde(default)]
    pub id: String,
    /// When it began, seconds since 1970-01-01 UTC.
    #[serde(default)]
    pub measured_at: i64,
    /// What the user called it: a commit, a version.
    #[serde(default)]
    pub label: Option<String>,
    /// Version of coldstart.
    #[serde(default)]
    pub coldstart_version: String,
    /// What each command's program was, as far as it is known: by command.
    #[serde(default)]
    pub programs: Vec<Option<ProgramIdentity>>,
    /// What was found.
    #[serde(flatten)]
    pub measurement: Measurement,
}

impl KeptMeasurement {
    /// The program of a command, where it is known.
    pub fn program(&self, command: usize) -> Option<&ProgramIdentity> {
        self.programs.get(command)?.as_ref()
    }
}
