//! Statistics beyond those of `coldstart measure`.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value and the interval that holds the true one with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `None` without values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted.get(middle.checked_sub(1)?).map(|lower| (lower + upper) / 2.0)
}

/// Least and greatest; `None` without values.
pub(super) fn range(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let greatest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((least, greatest))
}

/// The distance between the quartiles, a spread that a few odd values do not change; `None` without values. Between two
/// values it is interpolated, as R's `IQR` does it.
pub(super) fn quartile_distance(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let quantile = |part: f64| {
        let place = part * last as f64;
        let lower = *sorted.get(place.floor() as usize)?;
        let upper = *sorted.get(place.ceil() as usize)?;
        Some(lower + (upper - lower) * place.fract())
    };
    Some(quantile(0.75)? - quantile(0.25)?)
}

/// The mean with Student's 95 % interval; `None` with fewer than two values.
pub(super) fn mean_estimate(values: &[f64]) -> Option<Estimate> {
    let value = mean(values).filter(|_| values.len() >= 2)?;
    let degrees = values.len() as f64 - 1.0;
    let variance = values.iter().map(|one| (one - value).powi(2)).sum::<f64>() / degrees;
    let quantile = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.975);
    let half = quantile * (variance / values.len() as f64).sqrt();
    Some(Estimate { value, low: value - half, high: value + half })
}

/// Geometric mean of `time / baseline` with Student's 95 % interval on the logarithms, as `coldstart measure` does it;
/// `None` with fewer than two pairs of positive times.
pub(super) fn ratio_estimate(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let positive = pairs.iter().filter(|(time, baseline)| *time > 0.0 && *baseline > 0.0);
    let logarithms: Vec<f64> = positive.map(|(time, baseline)| (time / baseline).ln()).collect();
    let Estimate { value, low, high } = mean_estimate(&logarithms)?;
    Some(Estimate { value: value.exp(), low: low.exp(), high: high.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ranges_do_not_mind_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
        assert_eq!(range(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
        assert_eq!(range(&[]), None);
    }

    #[test]
    fn the_distance_of_the_quartiles_does_not_mind_odd_values() {
        // R: IQR(c(1, 2, 3, 4))
        assert_eq!(quartile_distance(&[4.0, 2.0, 3.0, 1.0]), Some(1.5));
        assert_eq!(quartile_distance(&[1.0, 2.0, 3.0, 4.0, 1000.0]), Some(2.0));
        assert_eq!(quartile_distance(&[7.0]), Some(0.0));
        assert_eq!(quartile_distance(&[]), None);
    }

    #[test]
    fn the_interval_is_students() {
        // R: t.test(c(1, 2, 3, 4, 5))$conf.int
        let estimate = mean_estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((estimate.low - 1.036_757).abs() < 1e-5, "{estimate:?}");
        assert!((estimate.high - 4.963_243).abs() < 1e-5, "{estimate:?}");
        assert_eq!(mean_estimate(&[1.0]), None);
    }

    #[test]
    fn a_ratio_and_its_inverse_are_inverse() {
        let pairs = [(1.0, 2.0), (1.1, 2.0), (0.9, 2.0)];
        let there = ratio_estimate(&pairs).unwrap();
        let back = ratio_estimate(&pairs.map(|(time, baseline)| (baseline, time))).unwrap();
        assert!((there.value * back.value - 1.0).abs() < 1e-12);
        assert!((there.low * back.high - 1.0).abs() < 1e-12);
        assert!(there.low < 0.5 && 0.5 < there.high);
        assert_eq!(ratio_estimate(&[(0.0, 1.0), (1.0, 1.0)]), None);
    }
}
