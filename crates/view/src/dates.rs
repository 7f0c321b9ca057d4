//! Formats moments, in UTC. The calendar itself is jiff's.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// `2026-11-22 00:47` of seconds since 1970-01-01 UTC.
pub fn minute(seconds: i64) -> String {
    let Some(moment) = civil(seconds) else { return beyond(seconds) };
    let (year, month, day) = (moment.year(), moment.month(), moment.day());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", moment.hour(), moment.minute())
}

/// `20261122T004705Z`, for names of files.
pub fn compact(seconds: i64) -> String {
    let Some(moment) = civil(seconds) else { return beyond(seconds) };
    let (year, month, day) = (moment.year(), moment.month(), moment.day());
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", moment.hour(), moment.minute(), moment.second())
}

/// Date and time of day; `None` beyond the year 9999, where only a damaged file leads.
fn civil(seconds: i64) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(Timestamp::from_second(seconds).ok()?))
}

/// The seconds alone, as `date -d` reads them.
fn beyond(seconds: i64) -> String {
    format!("@{seconds}")
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
        assert_eq!(minute(253_402_207_200), "9999-12-30 22:00");
        assert_eq!(minute(i64::MAX), "@9223372036854775807");
        assert_eq!(compact(i64::MIN), "@-9223372036854775808");
    }
}
