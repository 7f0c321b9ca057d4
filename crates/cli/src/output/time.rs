//! Human-readable times: milliseconds below a second, seconds above.

pub(crate) use coldstart_view::numbers::seconds;

use super::charset::either;

/// A spread in the unit and with the digits of `of`: `± 0.02 ms` beside `0.71 ms`.
pub(crate) fn spread(half_width: f64, of: f64) -> String {
    let sign = either("±", "+-");
    match of.abs() {
        size if size < 0.010 => format!("{sign} {:.2}", half_width * 1e3),
        size if size < 0.100 => format!("{sign} {:.1}", half_width * 1e3),
        size if size < 1.0 => format!("{sign} {:.0}", half_width * 1e3),
        size if size < 10.0 => format!("{sign} {half_width:.3}"),
        _ => format!("{sign} {half_width:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_size() {
        assert_eq!(spread(0.000_02, 0.000_71), "± 0.02");
        assert_eq!(spread(0.034, 3.1), "± 0.034");
    }
}
