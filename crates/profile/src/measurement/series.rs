//! Measurements of one command over time.

use serde::Serialize;

use super::{Interval, Machine, StartState, Verdict};

/// Measurements that may be compared with one another, oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Program and arguments.
    pub command_line: String,
    /// When the program counted as started.
    pub readiness: String,
    /// What the starts found in the page cache.
    pub state: StartState,
    /// Further conditions, as text: the restored saved state, the fixed frequency
    /// of the processors. Usually empty.
    pub condition: String,
    /// The machine, as it was first.
    pub machine: Machine,
    /// The measurements.
    pub points: Vec<Point>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Its number in the history.
    pub number: i64,
    /// Seconds since 1970-01-01 UTC.
    pub measured_at: i64,
    /// What the user called it.
    pub label: Option<String>,
    /// What identifies the program's content, cut short.
    pub program: Option<String>,
    /// Whether the program is known to be another than at the point before.
    pub is_other_program: bool,
    /// Counted runs.
    pub runs: usize,
    /// Seconds.
    pub median: f64,
    /// Seconds.
    pub mean: f64,
    /// Of the mean, 95 %.
    pub interval: Option<Interval>,
    /// Against the point before, as far as two single sessions tell.
    pub change: Option<Change>,
}

/// A point against the one before.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Time / time before.
    pub ratio: f64,
    /// Whether that is a difference.
    pub verdict: Verdict,
}

/// Whether one command in one state has more than one series.
pub fn is_apart(all: &[Series]) -> bool {
    let key = |series: &Series| (series.command_line.clone(), series.state);
    all.iter().enumerate().any(|(index, series)| all.iter().skip(index + 1).any(|other| key(series) == key(other)))
}
