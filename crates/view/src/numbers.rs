//! Formats numbers. Sizes are decimal, as is usual for disks and networks.

const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];

/// `999 B`, `1.5 kB`, `12.3 MB`, `157 MB`: three significant digits, in powers of 1000.
pub fn bytes(count: u64) -> String {
    if count < 1000 {
        return format!("{count} B");
    }
    // In integers, because a binary fraction would round some halves the wrong way.
    let mut divisor: u128 = 1000;
    let count = u128::from(count);
    for unit in UNITS {
        let (tenths, whole) = ((count * 10 + divisor / 2) / divisor, (count + divisor / 2) / divisor);
        if tenths < 1000 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
        if whole < 1000 {
            return format!("{whole} {unit}");
        }
        divisor *= 1000;
    }
    // u64::MAX is 18.4 EB, so the loop has returned.
    format!("{count} B")
}

/// `1 page`, `2 340 pages`, `3 libraries`, `4 first touches`, `5 addresses`.
pub fn counted(count: u64, noun: &str) -> String {
    let number = grouped(count);
    match (count, noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))) {
        (1, _) => format!("{number} {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ if noun.ends_with('s') || noun.ends_with("ch") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// A whole number with a space between groups of three digits: `38 214`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Share of `part` in `whole` in tenths of a percent, rounded down so that nothing is overstated; `-` without a whole.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = u128::from(part.min(whole)) * 1000 / u128::from(whole);
    match (part, tenths) {
        (0, _) => "0 %".to_owned(),
        (_, 0) => "<0.1 %".to_owned(),
        (_, 1000) => "100 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// Share of `part` in `whole` in whole percent, rounded to the nearest. `<1 %` and `>99 %` where rounding would give none or
/// all: a table may have many rows that are next to nothing. `-` without a whole.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let below_half = |part: u64| part > 0 && u128::from(part) * 200 < u128::from(whole);
    if below_half(part) {
        return "<1 %".to_owned();
    }
    if below_half(whole.saturating_sub(part)) {
        return ">99 %".to_owned();
    }
    let percent = (u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole);
    format!("{} %", if part < whole { percent.min(99) } else { 100 })
}

/// A length of time: `0.71 ms`, `712 ms`, `12.98 s`: enough digits to see a difference of one in a hundred.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        size if size < 0.010 => format!("{:.2} ms", value * 1e3),
        size if size < 0.100 => format!("{:.1} ms", value * 1e3),
        size if size < 1.0 => format!("{:.0} ms", value * 1e3),
        size if size < 10.0 => format!("{value:.3} s"),
        _ => format!("{value:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_overstated() {
        let shares =
            [(0, 7), (1, 100_000), (2, 3), (99_999, 100_000), (7, 7), (9, 7), (0, 0), (u64::MAX - 1, u64::MAX)];
        let shares: Vec<String> = shares.into_iter().map(|(part, whole)| share(part, whole)).collect();
        assert_eq!(shares, ["0 %", "<0.1 %", "66.6 %", "99.9 %", "100 %", "100 %", "-", "99.9 %"]);
    }

    #[test]
    fn only_none_is_0_and_only_all_is_100_percent() {
        let percents = [(0, 0), (0, 1000), (1, 1000), (4, 1000), (5, 1000), (14, 1000)];
        assert_eq!(percents.map(|(part, whole)| percent(part, whole)), ["-", "0 %", "<1 %", "<1 %", "1 %", "1 %"]);
        let percents = [(985, 1000), (995, 1000), (996, 1000), (1000, 1000), (1001, 1000)];
        assert_eq!(percents.map(|(part, whole)| percent(part, whole)), ["99 %", "99 %", ">99 %", "100 %", "100 %"]);
        assert_eq!(percent(u64::MAX - 1, u64::MAX), ">99 %");
    }

    #[test]
    fn digits_follow_the_size() {
        let shown = [0.000_71, 0.0312, 0.712_34, 3.116, 12.984, -0.5].map(seconds);
        assert_eq!(shown, ["0.71 ms", "31.2 ms", "712 ms", "3.116 s", "12.98 s", "-500 ms"]);
    }

    #[test]
    fn sizes_keep_three_digits() {
        let samples = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (99_949, "99.9 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (157_000_000, "157 MB"),
            (u64::MAX, "18.4 EB"),
        ];
        for (count, text) in samples {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn nouns_follow_their_number() {
        for (count, noun, text) in [
            (1, "byte", "1 byte"),
            (0, "byte", "0 bytes"),
            (2_340, "page", "2 340 pages"),
            (2, "library", "2 libraries"),
            (2, "key", "2 keys"),
            (3, "address", "3 addresses"),
            (3, "first touch", "3 first touches"),
        ] {
            assert_eq!(counted(count, noun), text);
        }
    }

    #[test]
    fn digits_stand_in_groups() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(38_214), "38 214");
        assert_eq!(grouped(1_000_000), "1 000 000");
    }
}
