//! The result of a measurement: every run, the figures, and reasons not to trust them.
//!
//! All times are seconds, all sizes bytes. Nothing is left out: runs that failed or contradicted their state are
//! included and marked, but not counted in the figures.

mod cause;
mod comparison;
mod frequency;
mod identity;
mod kept;
mod machine;
mod overhead;
mod processors;
mod same_machine;
mod sample;
mod series;
mod summary;
mod warning;

use serde::{Deserialize, Serialize};

pub use cause::{Cause, Disturbance};
pub use comparison::{Comparison, InputOutputComparison, Method, Verdict};
pub use frequency::{Frequency, FrequencyRange, Turbo};
pub use identity::{ProgramIdentity, path_from_text, path_to_text};
pub use kept::KeptMeasurement;
pub use machine::{Device, Machine};
pub use overhead::{Overhead, Spread};
pub use processors::ProcessorUse;
pub use sample::{DeviceReads, End, Residency, Sample, Use};
pub use series::{Change, Point, Series, is_apart};
pub use summary::{EvictionWay, Interval, Outlier, SavedStateFacts, StateFacts, StayedFile, Summary};
pub use warning::Warning;

/// The state of the page cache before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartState {
    /// All clean caches of the machine were dropped; only pages in use by running programs are left.
    Cold,
    /// As in a saved state, such as that right after boot: all caches dropped, then the state restored.
    Boot,
    /// The program's files and, where possible, their metadata evicted; everything else left.
    Selective,
    /// As the previous start left it.
    Hot,
}

impl StartState {
    /// One word: "cold", "boot", "selective", "hot".
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Boot => "boot",
            Self::Selective => "selective",
            Self::Hot => "hot",
        }
    }
}

impl std::fmt::Display for StartState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

/// The result of measuring one or more commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Where it was measured.
    pub machine: Machine,
    /// The commands, in the order given; the first is the baseline of the comparisons.
    pub commands: Vec<MeasuredCommand>,
    /// Every launch, in order of execution.
    pub samples: Vec<Sample>,
    /// The figures of each command in each state, by state, then command.
    pub summaries: Vec<Summary>,
    /// Each further command against the first, in each state.
    pub comparisons: Vec<Comparison>,
    /// Each further command's cost of being cold against the first's, where both a cold and a hot state were measured.
    pub input_output: Vec<InputOutputComparison>,
    /// The time of starting `true` from our launcher, hot, in seconds: the smallest measurable time. `None` without
    /// such a program.
    pub launch_floor: Option<f64>,
    /// The overhead of measuring; `None` in results of versions without it.
    #[serde(default)]
    pub overhead: Option<Overhead>,
    /// Reasons not to trust the figures.
    pub warnings: Vec<Warning>,
}

/// One of the commands measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredCommand {
    /// Its label in tables.
    pub label: String,
    /// Program and arguments, quoted as for a shell.
    pub command_line: String,
    /// The moment that counts as started: `exit`, `stdout:REGEX`, `port:N`.
    pub readiness: String,
    /// Number of files by which its state was checked; 0 if none were known.
    pub file_count: u64,
}
