//! When a measurement ends before all its rounds are done: its intervals are narrow enough, or its time is used up.
//!
//! The rule looks at the width of the intervals and never at the verdict: stopping as soon as a difference shows would claim
//! differences that are not there.

use std::time::{Duration, Instant};

use coldstart_profile::measurement::{Comparison, Interval, StartState};

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyEnd {
    /// Complete rounds of a state before its end; at least 2.
    pub least_rounds: u32,
    /// Half the width of the 95 % interval of a ratio, relative to the ratio, that is narrow enough: 0.03 for 3 %. All
    /// comparisons must be as narrow.
    pub precision: f64,
    /// Time for all states. A fifth of it is kept for the hot state if that is measured after another.
    pub time_limit: Option<Duration>,
}

/// The share of the time that is kept for the hot state.
const SHARE_FOR_HOT: u32 = 5;

impl EarlyEnd {
    /// The moment after which no further round of `state` begins, for a measurement that began at `begun`.
    pub(crate) fn deadline(&self, begun: Instant, state: StartState, states: &[StartState]) -> Option<Instant> {
        let limit = self.time_limit?;
        let hot_follows = state != StartState::Hot && states.contains(&StartState::Hot);
        begun.checked_add(if hot_follows { limit - limit / SHARE_FOR_HOT } else { limit })
    }

    /// Whether a state with so many complete rounds needs no further one.
    pub(crate) fn is_enough(&self, rounds: u32, comparisons: &[Comparison], deadline: Option<Instant>) -> bool {
        if rounds < self.least_rounds.max(2) {
            return false;
        }
        let narrow =
            |found: &Comparison| found.interval.as_ref().is_some_and(|found| half_width(found) <= self.precision);
        let are_narrow = !comparisons.is_empty() && comparisons.iter().all(narrow);
        are_narrow || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Half the width of a ratio's interval relative to its middle, which is the geometric mean of its ends.
fn half_width(interval: &Interval) -> f64 {
    if interval.low > 0.0 { (interval.high / interval.low).sqrt() - 1.0 } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::measurement::{Method, Verdict};

    use super::*;

    fn comparison(low: f64, high: f64) -> Comparison {
        Comparison {
            baseline: 0,
            command: 1,
            state: StartState::Cold,
            ratio: Some((low * high).sqrt()),
            interval: Some(Interval { low, high, confidence: 0.95 }),
            wide_interval: None,
            method: Method::PairedByRound,
            samples: 3,
            verdict: Verdict::NotShown,
        }
    }

    #[test]
    fn narrow_intervals_are_enough_after_the_least_rounds() {
        let rule = EarlyEnd { least_rounds: 3, precision: 0.03, time_limit: None };
        let (narrow, wide) = (comparison(0.49, 0.51), comparison(0.4, 0.6));
        assert!(!rule.is_enough(2, std::slice::from_ref(&narrow), None));
        assert!(rule.is_enough(3, std::slice::from_ref(&narrow), None));
        assert!(!rule.is_enough(3, &[narrow.clone(), wide.clone()], None), "one is not");
        assert!(!rule.is_enough(9, &[], None), "without a comparison nothing is narrow");
        let unknown = Comparison { interval: None, ..wide };
        assert!(!rule.is_enough(9, &[unknown], None));
        assert!(!rule.is_enough(9, &[comparison(0.0, 0.1)], None));
    }

    #[test]
    fn a_used_up_time_is_enough_with_a_share_for_the_hot_state() {
        let rule = EarlyEnd { least_rounds: 2, precision: 0.0, time_limit: Some(Duration::from_secs(10)) };
        let begun = Instant::now();
        let states = [StartState::Cold, StartState::Hot];
        assert_eq!(rule.deadline(begun, StartState::Cold, &states), Some(begun + Duration::from_secs(8)));
        assert_eq!(rule.deadline(begun, StartState::Hot, &states), Some(begun + Duration::from_secs(10)));
        assert_eq!(rule.deadline(begun, StartState::Cold, &states[..1]), Some(begun + Duration::from_secs(10)));
        assert!(rule.is_enough(2, &[], Some(begun)) && !rule.is_enough(1, &[], Some(begun)));
    }
}
