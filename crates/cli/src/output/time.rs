//! Times as people read them: milliseconds below a second, seconds above.

use super::charset::either;

/// `0.71 ms`, `712 ms`, `12.98 s`: enough digits to see a difference of one in a hundred.
pub(crate) fn seconds(value: f64) -> String {
    match value.abs() {
        size if size < 0.010 => format!("{:.2} ms", value * 1e3),
        size if size < 0.100 => format!("{:.1} ms", value * 1e3),
        size if size < 1.0 => format!("{:.0} ms", value * 1e3),
        size if size < 10.0 => format!("{value:.3} s"),
        _ => format!("{value:.2} s"),
    }
}

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
        let shown = [0.000_71, 0.0312, 0.712_34, 3.116, 12.984, -0.5].map(seconds);
        assert_eq!(shown, ["0.71 ms", "31.2 ms", "712 ms", "3.116 s", "12.98 s", "-500 ms"]);
        assert_eq!(spread(0.000_02, 0.000_71), "± 0.02");
        assert_eq!(spread(0.034, 3.1), "± 0.034");
    }
}
