//! Mean, median, spread.

use coldstart_profile::measurement::Interval;

use super::student::student_t;

/// Mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Median, the mean of the middle two for an even number; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((sorted.get(middle.checked_sub(1)?)? + upper) / 2.0)
}

/// Standard deviation of a sample (divided by n - 1); `None` with fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Where the true mean lies (Student's t); `None` with fewer than two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let centre = mean(values)?;
    let error = standard_deviation(values)? / (values.len() as f64).sqrt();
    let reach = error * student_t(confidence, (values.len() - 1) as f64)?;
    Some(Interval { low: centre - reach, high: centre + reach, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        // R: t.test(c(2, 4, 4, 4, 5, 5, 7, 9))
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_eq!(median(&values), Some(4.5));
        assert!((standard_deviation(&values).unwrap() - 2.138_090).abs() < 1e-6);
        let interval = mean_interval(&values, 0.95).unwrap();
        assert!((interval.low - 3.212_512).abs() < 1e-5 && (interval.high - 6.787_488).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn too_few_values_have_no_spread() {
        assert_eq!((mean(&[]), median(&[])), (None, None));
        assert_eq!((mean(&[3.0]), median(&[3.0])), (Some(3.0), Some(3.0)));
        assert_eq!((standard_deviation(&[3.0]), mean_interval(&[3.0], 0.95)), (None, None));
    }
}
