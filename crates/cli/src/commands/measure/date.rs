//! Moments as people read them, in UTC.

const DAY: i64 = 86_400;

/// `2026-11-22 00:47` of seconds since 1970-01-01 UTC.
pub(super) fn minute(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let minutes = seconds.rem_euclid(DAY) / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

/// `20261122T004705Z`, for names of files.
pub(super) fn compact(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let rest = seconds.rem_euclid(DAY);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        // date -u -d @N
        assert_eq!(minute(0), "1970-01-01 00:00");
        assert_eq!(minute(951_782_400), "2000-02-29 00:00");
        assert_eq!(minute(1_795_308_420), "2026-11-22 00:47");
        assert_eq!(minute(-1), "1969-12-31 23:59");
        assert_eq!(compact(1_795_308_425), "20261122T004705Z");
        minute(i64::MAX);
        minute(i64::MIN);
    }
}
