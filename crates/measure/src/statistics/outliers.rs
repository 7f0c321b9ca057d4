//! Values far from the others.
//!
//! By the median absolute deviation, which outliers hardly change; one of ten values can stretch the standard deviation
//! so much that no value is three of it away.

use super::describe::{mean, median};

/// Beyond this many robust standard deviations a value is an outlier (Iglewicz and Hoaglin 1993, "How to detect and
/// handle outliers").
const MOST_DEVIATIONS: f64 = 3.5;
/// Makes the median absolute deviation an estimate of the normal distribution's standard deviation.
const MEDIAN_TO_STANDARD: f64 = 1.4826;
/// The same for the mean absolute deviation, which stands in where more than half of the values are equal.
const MEAN_TO_STANDARD: f64 = 1.253_314;
/// The minimum number of values.
const LEAST_VALUES: usize = 5;

/// Indices of the values far from the others, in order.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values).filter(|_| values.len() >= LEAST_VALUES) else { return Vec::new() };
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let spread = match median(&deviations) {
        Some(spread) if spread > 0.0 => spread * MEDIAN_TO_STANDARD,
        _ => mean(&deviations).unwrap_or(0.0) * MEAN_TO_STANDARD,
    };
    let is_far = |deviation: f64| spread > 0.0 && deviation / spread > MOST_DEVIATIONS;
    deviations.iter().enumerate().filter(|&(_, &deviation)| is_far(deviation)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_values_are_found_and_only_they() {
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 0.95, 3.0]), [5]);
        assert_eq!(outliers(&[3.0, 1.1, 0.9, 1.05, 0.95, 1.0, 3.1]), [0, 6], "two do not hide each other");
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.05, 0.95]), [] as [usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), [7], "more than half are equal");
        assert_eq!(outliers(&[1.0; 8]), [] as [usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 9.0]), [] as [usize; 0], "too few");
    }
}
