//! The cost of being cold, compared between two commands.

use coldstart_profile::measurement::{Interval, Verdict};

use super::describe::{mean, standard_deviation};
use super::student::student_t;
use super::{CLAIM_CONFIDENCE, CONFIDENCE};

/// (cold - hot) of a command against (cold - hot) of its baseline, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostDifference {
    /// cold - hot of the baseline.
    pub baseline_cost: f64,
    /// cold - hot of the command.
    pub command_cost: f64,
    /// The command's cost - the baseline's.
    pub difference: f64,
    /// 95 %.
    pub interval: Option<Interval>,
    /// 99 %.
    pub wide_interval: Option<Interval>,
    /// The verdict on the command's cost.
    pub verdict: Verdict,
}

/// Each side is its cold times and its hot times, in seconds. `None` if one of the four has no value.
///
/// The four means are independent, so their variances add up; the degrees of freedom of the sum are Satterthwaite's
/// (1946), of which Welch's test is the case of two means.
pub fn cost_difference(baseline: [&[f64]; 2], command: [&[f64]; 2]) -> Option<CostDifference> {
    let cost = |[cold, hot]: [&[f64]; 2]| Some(mean(cold)? - mean(hot)?);
    let (baseline_cost, command_cost) = (cost(baseline)?, cost(command)?);
    let difference = command_cost - baseline_cost;
    let error = error_of_sum(&[baseline[0], baseline[1], command[0], command[1]]);
    let interval = |confidence| {
        let (error, degrees) = error?;
        let reach = if error > 0.0 { error * student_t(confidence, degrees)? } else { 0.0 };
        Some(Interval { low: difference - reach, high: difference + reach, confidence })
    };
    let wide_interval = interval(CLAIM_CONFIDENCE);
    let verdict = super::compare::verdict(wide_interval.map(|wide| (wide.low, wide.high)));
    let interval = interval(CONFIDENCE);
    Some(CostDifference { baseline_cost, command_cost, difference, interval, wide_interval, verdict })
}

/// Standard error of a sum or difference of means, and its degrees of freedom; `None` if one has fewer than two values.
pub(super) fn error_of_sum(samples: &[&[f64]]) -> Option<(f64, f64)> {
    let mut variance = 0.0;
    let mut scaled = 0.0;
    for values in samples {
        let part = standard_deviation(values)?.powi(2) / values.len() as f64;
        variance += part;
        scaled += part.powi(2) / (values.len() - 1) as f64;
    }
    Some((variance.sqrt(), if scaled > 0.0 { variance.powi(2) / scaled } else { f64::INFINITY }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_two_means_it_is_welchs_test() {
        // R: t.test(c(27.5,21,19,23.6,17,17.9), c(27.1,22,20.8,23.4,23.4,23.5))$parameter, $stderr
        let (error, degrees) =
            error_of_sum(&[&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], &[27.1, 22.0, 20.8, 23.4, 23.4, 23.5]]).unwrap();
        let variance = |values: &[f64]| standard_deviation(values).unwrap().powi(2) / 6.0;
        let (a, b) = (variance(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9]), variance(&[27.1, 22.0, 20.8, 23.4, 23.4, 23.5]));
        assert!((error - (a + b).sqrt()).abs() < 1e-12);
        assert!((degrees - (a + b).powi(2) / (a * a / 5.0 + b * b / 5.0)).abs() < 1e-9);
    }

    #[test]
    fn the_cost_of_being_cold_is_compared_and_not_the_cold_time() {
        // The command computes longer, and waits less for the disk.
        let cold = [2.00, 2.01, 1.99, 2.00, 2.02];
        let hot = [1.00, 1.01, 0.99, 1.00, 1.00];
        let slow_cold = [2.50, 2.51, 2.49, 2.50, 2.52];
        let slow_hot = [2.00, 2.01, 1.99, 2.00, 2.00];
        let compared = cost_difference([&cold, &hot], [&slow_cold, &slow_hot]).unwrap();
        assert!((compared.difference + 0.5).abs() < 0.01, "{compared:?}");
        assert!(compared.wide_interval.unwrap().contains(-0.5) && !compared.wide_interval.unwrap().contains(0.0));
        assert_eq!(compared.verdict, Verdict::Faster);
    }

    #[test]
    fn a_single_value_gives_no_interval() {
        let compared = cost_difference([&[2.0], &[1.0]], [&[2.5], &[1.0]]).unwrap();
        assert_eq!((compared.difference, compared.interval, compared.verdict), (0.5, None, Verdict::TooFew));
        assert_eq!(cost_difference([&[2.0], &[]], [&[2.5], &[1.0]]), None);
    }
}
