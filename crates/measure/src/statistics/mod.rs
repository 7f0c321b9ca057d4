//! Statistics of times: pure functions.
//!
//! Times of starts have heavy tails to one side (another program wanted the disk) and drift (the machine warms up).
//! Comparisons therefore work on logarithms, in which a ratio is a difference and the tail is shorter, and on pairs from
//! the same round, in which drift cancels.

mod compare;
mod describe;
mod gate;
#[cfg(test)]
mod gate_simulation;
mod input_output;
#[cfg(test)]
mod noise;
mod outliers;
#[cfg(test)]
mod simulation;
mod student;

pub use compare::{Compared, compare};
pub use describe::{mean, mean_interval, median, standard_deviation};
pub use gate::{
    Basis, GateTest, LEAST_RUNS, POWER, SESSION_ALLOWANCE, SessionDifference, Terms, against_sessions,
    session_difference, side_by_side,
};
pub use input_output::{CostDifference, cost_difference};
pub use outliers::outliers;
pub use student::student_t;

/// The confidence of displayed intervals.
pub const CONFIDENCE: f64 = 0.95;
/// The confidence required to claim a difference: with 40 comparisons of equals, 0.4 false claims are expected.
pub const CLAIM_CONFIDENCE: f64 = 0.99;
