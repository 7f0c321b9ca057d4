//! One row of the table: target, measured value, and verdict.

use super::measurement::Summary;
use super::statistics::{Estimate, mean_estimate, median, quartile_distance, range};

/// A figure. Times are in seconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// What it is a figure of.
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) asked: Asked,
    /// The figure that is judged: of times the median, of peaks the greatest. `None` if there is none, because too few
    /// runs count.
    pub(super) value: Option<f64>,
    /// The mean, or of differences and ratios the figure itself, with its interval.
    pub(super) mean: Option<Estimate>,
    /// Runs, rounds or comparisons that it is made of.
    pub(super) count: usize,
    /// Least and greatest.
    pub(super) range: Option<(f64, f64)>,
    /// To the plain start in the same state.
    pub(super) ratio: Option<Estimate>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Shown in seconds.
    Seconds,
    /// Held in seconds, shown in milliseconds.
    Milliseconds,
    /// Held in bytes, shown in MB of 10^6 bytes.
    Megabytes,
    /// The same, shown to the hundredth: for differences of sizes, which are known exactly.
    ExactMegabytes,
    /// A ratio.
    Times,
    /// A plain number.
    Count,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Asked {
    /// Nothing; it stands there for comparison.
    Nothing,
    /// Nothing; an earlier measurement on another day's machine gave this.
    Seen(f64),
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// From zero at most this far, either way; the words say where the limit comes from.
    Within(f64, &'static str),
}

impl Figure {
    /// A figure with a value only.
    pub(super) fn new(what: impl Into<String>, unit: Unit, asked: Asked, value: Option<f64>) -> Self {
        Self { what: what.into(), unit, asked, value, mean: None, count: 0, range: None, ratio: None }
    }

    /// Times that were measured one by one.
    pub(super) fn of_times(what: impl Into<String>, unit: Unit, asked: Asked, times: &[f64]) -> Self {
        Self {
            mean: mean_estimate(times),
            count: times.len(),
            range: range(times),
            ..Self::new(what, unit, asked, median(times))
        }
    }

    /// The robust spread of times that were measured one by one: half of them lie within this distance.
    pub(super) fn of_spread(what: impl Into<String>, times: &[f64]) -> Self {
        let distance = quartile_distance(times);
        Self { count: times.len(), ..Self::new(what, Unit::Milliseconds, Asked::Nothing, distance) }
    }

    /// The greatest of several peaks, in bytes.
    pub(super) fn of_peaks(what: impl Into<String>, asked: Asked, peaks: &[f64]) -> Self {
        let range = range(peaks);
        let greatest = range.map(|(_, greatest)| greatest);
        Self { count: peaks.len(), range, ..Self::new(what, Unit::Megabytes, asked, greatest) }
    }

    /// Times of a command in one state, as `coldstart measure` sums them up.
    pub(super) fn of_summary(what: impl Into<String>, asked: Asked, summary: Option<&Summary>) -> Self {
        let value = summary.and_then(|summary| summary.median);
        let Some(summary) = summary else { return Self::new(what, Unit::Seconds, asked, value) };
        Self {
            mean: summary.mean_estimate(),
            count: summary.counted as usize,
            range: summary.min.zip(summary.max),
            ..Self::new(what, Unit::Seconds, asked, value)
        }
    }

    /// A difference or ratio with its interval.
    pub(super) fn of_estimate(
        what: impl Into<String>,
        unit: Unit,
        asked: Asked,
        estimate: Option<Estimate>,
        count: usize,
    ) -> Self {
        let value = estimate.map(|estimate| estimate.value);
        Self { mean: estimate, count, ..Self::new(what, unit, asked, value) }
    }

    /// Whether it meets what was asked; `None` if nothing was. A missing figure meets nothing.
    pub(super) fn is_met(&self) -> Option<bool> {
        let holds = |condition: &dyn Fn(f64) -> bool| Some(self.value.is_some_and(condition));
        match self.asked {
            Asked::Nothing | Asked::Seen(_) => None,
            Asked::AtMost(limit) => holds(&|value| value <= limit),
            Asked::AtLeast(limit) => holds(&|value| value >= limit),
            Asked::Within(limit, _) => holds(&|value| value.abs() <= limit),
        }
    }

    /// Whether the interval of what is judged lies on both sides of the limit, so that another series may well come to
    /// the other verdict. Of times the mean's interval stands in for the median's.
    pub(super) fn is_close(&self) -> bool {
        let Some(Estimate { low, high, .. }) = self.mean else { return false };
        let between = |limit: f64| low <= limit && limit < high;
        match self.asked {
            Asked::Nothing | Asked::Seen(_) => false,
            Asked::AtMost(limit) | Asked::AtLeast(limit) => between(limit),
            Asked::Within(limit, _) => between(limit) || between(-limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_given_where_something_was_asked() {
        let met = |asked, value| Figure::new("a", Unit::Seconds, asked, value).is_met();
        assert_eq!(met(Asked::Nothing, Some(1.0)), None);
        assert_eq!(met(Asked::Seen(2.0), Some(1.0)), None);
        assert_eq!(met(Asked::AtMost(3.4), Some(3.4)), Some(true));
        assert_eq!(met(Asked::AtMost(3.4), Some(3.41)), Some(false));
        assert_eq!(met(Asked::AtMost(3.4), None), Some(false));
        assert_eq!(met(Asked::AtMost(3.4), Some(f64::NAN)), Some(false));
        assert_eq!(met(Asked::AtLeast(14.0), Some(14.0)), Some(true));
        assert_eq!(met(Asked::AtLeast(14.0), Some(13.9)), Some(false));
        assert_eq!(met(Asked::AtLeast(14.0), None), Some(false));
        assert_eq!(met(Asked::Within(1e-4, ""), Some(-0.9e-4)), Some(true));
        assert_eq!(met(Asked::Within(1e-4, ""), Some(-1.1e-4)), Some(false));
    }

    #[test]
    fn a_limit_inside_the_interval_is_close() {
        let figure = |asked| {
            let estimate = Some(Estimate { value: 1.01, low: 0.99, high: 1.03 });
            Figure::of_estimate("a", Unit::Times, asked, estimate, 20)
        };
        assert!(figure(Asked::AtMost(1.02)).is_close());
        assert!(!figure(Asked::AtMost(1.04)).is_close());
        assert!(!figure(Asked::Nothing).is_close());
        assert!(!Figure::new("a", Unit::Times, Asked::AtMost(1.0), Some(1.0)).is_close());
    }
}
