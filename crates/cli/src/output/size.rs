//! Human-readable sizes and shares.

pub(crate) use coldstart_view::numbers::{bytes, grouped};

/// Share of `part` in `whole` as a percentage without decimals; 0 % and 100 % mean none and all, nothing rounds to them.
/// `-` when there is no whole.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let share = (u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole);
    let share = match part {
        0 => 0,
        part if part >= whole => share.max(100),
        _ => share.clamp(1, 99),
    };
    format!("{share} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_none_is_0_and_only_all_is_100_percent() {
        assert_eq!(percent(0, 7), "0 %");
        assert_eq!(percent(1, 100_000), "1 %");
        assert_eq!(percent(99_999, 100_000), "99 %");
        assert_eq!(percent(7, 7), "100 %");
        assert_eq!(percent(0, 0), "-");
        assert_eq!(percent(u64::MAX - 1, u64::MAX), "99 %");
    }
}
