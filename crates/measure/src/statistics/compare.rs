//! Whether a command's time differs from the baseline's.

use coldstart_profile::measurement::{Interval, Method, Verdict};

use super::describe::{mean, mean_interval};
use super::input_output::error_of_sum;
use super::student::student_t;
use super::{CLAIM_CONFIDENCE, CONFIDENCE};

/// With this many complete rounds, incomplete ones are ignored and pairs compared.
const ENOUGH_PAIRS: usize = 5;
/// An interval with 1 inside whose ends are further apart than so many times says nothing: two or three pairs that differ make one of any width.
const WIDEST: f64 = 100.0;

/// A command's times compared with a baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Command / baseline, geometric mean.
    pub ratio: Option<f64>,
    /// 95 %; `None` where there are too few samples for one that says anything.
    pub interval: Option<Interval>,
    /// 99 %; likewise.
    pub wide_interval: Option<Interval>,
    /// How.
    pub method: Method,
    /// Pairs, or samples of the smaller side.
    pub samples: usize,
    /// The verdict.
    pub verdict: Verdict,
}

/// Compares times in seconds by round: each round has the baseline's and the command's, if counted.
///
/// A difference is claimed when the 99 % interval of the ratio excludes 1. Times that are not positive are ignored.
pub fn compare(rounds: &[(Option<f64>, Option<f64>)]) -> Compared {
    let logarithm = |time: Option<f64>| time.filter(|time| *time > 0.0 && time.is_finite()).map(f64::ln);
    let rounds: Vec<_> = rounds.iter().map(|&(baseline, command)| (logarithm(baseline), logarithm(command))).collect();
    let pairs: Vec<f64> = rounds.iter().filter_map(|&(baseline, command)| Some(command? - baseline?)).collect();
    if pairs.len() == rounds.len() || pairs.len() >= ENOUGH_PAIRS {
        let interval = |confidence| mean_interval(&pairs, confidence);
        return compared(mean(&pairs), interval, Method::PairedByRound, pairs.len());
    }
    let baseline: Vec<f64> = rounds.iter().filter_map(|round| round.0).collect();
    let command: Vec<f64> = rounds.iter().filter_map(|round| round.1).collect();
    let difference = mean(&command).zip(mean(&baseline)).map(|(command, baseline)| command - baseline);
    let interval = |confidence| {
        let (error, degrees) = error_of_sum(&[&baseline, &command])?;
        let reach = if error > 0.0 { error * student_t(confidence, degrees)? } else { 0.0 };
        difference.map(|centre| Interval { low: centre - reach, high: centre + reach, confidence })
    };
    compared(difference, interval, Method::Unpaired, baseline.len().min(command.len()))
}

/// From logarithms back to ratios.
fn compared(
    difference: Option<f64>,
    interval: impl Fn(f64) -> Option<Interval>,
    method: Method,
    samples: usize,
) -> Compared {
    let ratios = |interval: Interval| Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval };
    let says_something = |interval: &Interval| !interval.contains(0.0) || interval.high - interval.low <= WIDEST.ln();
    let wide = interval(CLAIM_CONFIDENCE).filter(says_something);
    Compared {
        ratio: difference.map(f64::exp),
        interval: interval(CONFIDENCE).filter(says_something).map(ratios),
        wide_interval: wide.map(ratios),
        method,
        samples,
        verdict: verdict(wide.map(|wide| (wide.low, wide.high))),
    }
}

/// The verdict on a difference, from its interval's ends.
pub(super) fn verdict(interval: Option<(f64, f64)>) -> Verdict {
    match interval {
        None => Verdict::TooFew,
        Some((_, high)) if high < 0.0 => Verdict::Faster,
        Some((low, _)) if low > 0.0 => Verdict::Slower,
        Some(_) => Verdict::NotShown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(baseline: &[f64], command: &[f64]) -> Vec<(Option<f64>, Option<f64>)> {
        baseline.iter().zip(command).map(|(&baseline, &command)| (Some(baseline), Some(command))).collect()
    }

    #[test]
    fn the_ratio_is_geometric_and_paired() {
        let compared = compare(&both(&[1.0, 2.0, 4.0], &[0.5, 1.01, 1.99]));
        assert!((compared.ratio.unwrap() - 0.5).abs() < 0.001);
        assert_eq!((compared.method, compared.samples, compared.verdict), (Method::PairedByRound, 3, Verdict::Faster));
        let (inner, outer) = (compared.interval.unwrap(), compared.wide_interval.unwrap());
        assert!(outer.low < inner.low && inner.low < 0.5 && 0.5 < inner.high && inner.high < outer.high);
    }

    #[test]
    fn with_few_complete_rounds_the_sides_stand_alone() {
        let mut rounds = both(&[1.0, 1.01, 0.99, 1.0], &[2.0, 2.01, 1.99, 2.0]);
        rounds[3].0 = None;
        let compared = compare(&rounds);
        assert_eq!((compared.method, compared.samples, compared.verdict), (Method::Unpaired, 3, Verdict::Slower));
        assert!(compared.wide_interval.unwrap().contains(2.0));
    }

    #[test]
    fn too_few_runs_have_no_interval() {
        let compared = compare(&both(&[1.0], &[3.0]));
        assert_eq!((compared.interval, compared.wide_interval, compared.verdict), (None, None, Verdict::TooFew));
        assert!((compared.ratio.unwrap() - 3.0).abs() < 1e-12);
        for nothing in [vec![], vec![(Some(1.0), None)], vec![(Some(0.0), Some(1.0)), (None, Some(2.0))]] {
            let compared = compare(&nothing);
            assert_eq!((compared.ratio, compared.verdict), (None, Verdict::TooFew), "{nothing:?}");
        }
    }

    #[test]
    fn an_interval_of_any_width_is_none() {
        let compared = compare(&both(&[1.0, 1.0], &[0.5, 1.5]));
        assert_eq!((compared.interval, compared.wide_interval, compared.verdict), (None, None, Verdict::TooFew));
        // That of 95 % is narrower, and may say something.
        let compared = compare(&both(&[1.0, 1.0], &[0.9, 1.1]));
        assert!(compared.interval.unwrap().contains(1.0), "{compared:?}");
        assert_eq!((compared.wide_interval, compared.verdict), (None, Verdict::TooFew));
        // As wide, but all of it far from 1.
        let compared = compare(&both(&[1.0, 1.0], &[1e-9, 1.2e-9]));
        assert_eq!(compared.verdict, Verdict::Faster, "{compared:?}");
    }
}
