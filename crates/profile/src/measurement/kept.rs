//! A stored measurement, with the facts that identify it months later.

use serde::{Deserialize, Serialize};

use super::{Measurement, ProgramIdentity};

/// A measurement that is kept, in a history or as JSON. What an older JSON lacks is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptMeasurement {
    /// Its unique ID: importing it twice stores it once.
    #[serde(default)]
    pub id: String,
    /// When it began, seconds since 1970-01-01 UTC.
    #[serde(default)]
    pub measured_at: i64,
    /// The user's label: a commit, a version.
    #[serde(default)]
    pub label: Option<String>,
    /// Version of coldstart.
    #[serde(default)]
    pub coldstart_version: String,
    /// The identity of each command's program, if known: by command.
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
