//! The comparison of two commands.

use serde::{Deserialize, Serialize};

use super::{Interval, StartState};

/// A command against the baseline, in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Index of the baseline among the commands.
    pub baseline: usize,
    /// Index of the command compared with it.
    pub command: usize,
    /// The state.
    pub state: StartState,
    /// Time of the command / time of the baseline, geometric mean: 0.5 is twice as fast. `None` without samples.
    pub ratio: Option<f64>,
    /// The 95 % interval of the true ratio; `None` with too few samples.
    pub interval: Option<Interval>,
    /// The 99 % interval, on which the verdict is based.
    pub wide_interval: Option<Interval>,
    /// How the intervals were made.
    pub method: Method,
    /// Pairs or, unpaired, samples of the smaller side that went into it.
    pub samples: u32,
    /// The verdict.
    pub verdict: Verdict,
}

/// How two sets of times were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Student's t on the logarithms of the ratios within each round.
    PairedByRound,
    /// Welch's t on the logarithms of the times, because too many rounds lack one side.
    Unpaired,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Less time than the baseline.
    Faster,
    /// More time than the baseline.
    Slower,
    /// No difference has been shown; there may still be one.
    NotShown,
    /// Too few samples for a conclusion.
    TooFew,
}

/// What being cold costs a command, against what it costs the baseline:
/// (cold - hot) of the command - (cold - hot) of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputOutputComparison {
    /// Index of the baseline among the commands.
    pub baseline: usize,
    /// Index of the command compared with it.
    pub command: usize,
    /// The state used as cold: [`StartState::Cold`] or, if that was not measured, [`StartState::Selective`].
    pub cold: StartState,
    /// cold - hot of the baseline, in seconds.
    pub baseline_cost: f64,
    /// cold - hot of the command, in seconds.
    pub command_cost: f64,
    /// The difference of the two in seconds: negative if the command waits less for its disk.
    pub difference: f64,
    /// The 95 % interval of the true difference (Welch-Satterthwaite); `None` if a mean has a single sample.
    pub interval: Option<Interval>,
    /// The 99 % interval, on which the verdict is based.
    pub wide_interval: Option<Interval>,
    /// The verdict.
    pub verdict: Verdict,
}
