//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Above this the distribution is so close to the normal one that a series is exact to seven digits.
const MANY_DEGREES: f64 = 1000.0;

/// The half-width of an interval of this confidence, in standard errors; `None` unless the degrees of freedom
/// are positive and the confidence is between 0 and 1, or where the result would be useless (above 10^9).
///
/// The distribution function is inverted by bisection: the library's own inverse (algorithm AS 64 and AS 109) was seen
/// not to terminate for 10^9 degrees of freedom, and its error grows on the way there.
pub fn student_t(confidence: f64, degrees_of_freedom: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) || degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
        return None;
    }
    let probability = 0.5 + confidence / 2.0;
    if degrees_of_freedom > MANY_DEGREES {
        let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(probability);
        // Abramowitz and Stegun, 26.7.5.
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return Some(z + first / degrees_of_freedom + second / degrees_of_freedom.powi(2));
    }
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    let mut high = 1.0;
    while distribution.cdf(high) < probability {
        high *= 2.0;
        if high > 1e9 {
            return None;
        }
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if distribution.cdf(middle) < probability { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_printed_tables() {
        // Abramowitz and Stegun, table 26.10.
        for (confidence, degrees, wanted) in [
            (0.95, 1.0, 12.706),
            (0.95, 9.0, 2.262),
            (0.95, 30.0, 2.042),
            (0.99, 1.0, 63.657),
            (0.99, 9.0, 3.250),
            (0.99, 120.0, 2.617),
        ] {
            let value = student_t(confidence, degrees).unwrap();
            assert!((value - wanted).abs() < 0.0006, "{confidence} {degrees}: {value}");
        }
        for degrees in [1e9, f64::INFINITY] {
            assert!((student_t(0.95, degrees).unwrap() - 1.959_964).abs() < 1e-6);
        }
    }

    #[test]
    fn both_ways_of_finding_it_meet() {
        for confidence in [0.5, 0.95, 0.99, 0.999] {
            let below = student_t(confidence, MANY_DEGREES).unwrap();
            let above = student_t(confidence, MANY_DEGREES + 1e-6).unwrap();
            assert!((below / above - 1.0).abs() < 1e-7, "{confidence}: {below} {above}");
        }
    }

    #[test]
    fn nonsense_has_no_value() {
        for (confidence, degrees) in
            [(0.95, 0.0), (0.95, -1.0), (0.95, f64::NAN), (1.0, 3.0), (0.0, 3.0), (f64::NAN, 3.0), (0.99, 1e-3)]
        {
            assert_eq!(student_t(confidence, degrees), None);
        }
    }
}
