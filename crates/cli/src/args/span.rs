//! A span of time as it is typed, for arguments that take minutes and hours.

use std::time::Duration;

/// A time: `90`, `90s`, `10m`, `1h`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a time above 0, such as 90s, 10m or 1h");
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().map_err(|_| refused())? * unit;
    // A year is more than anybody waits, and less than overflows a clock.
    let in_reach = |span: &Duration| !span.is_zero() && span.as_secs() < 366 * 24 * 3600;
    Duration::try_from_secs_f64(seconds).ok().filter(in_reach).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(span("90"), Ok(Duration::from_secs(90)));
        assert_eq!(span("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(span("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "0", "0s", "-1", "m", "ten", "1d", "nan", "inf", "1e300h", "\u{e9}"] {
            assert!(span(text).unwrap_err().contains(text), "{text}");
        }
    }
}
