//! Converts the browser's clock to ours.
//!
//! A page knows only the time of day, which may be set while the program starts; we measure by the monotonic clock.
//! NTP slews both alike, so their difference changes only when the time of day is set.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::site::Report;

/// The time of day was set when the difference changes by more than this; less is our own inaccuracy.
const DISAGREEMENT: Duration = Duration::from_millis(1);

/// Both clocks, read at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    instant: Instant,
    /// Since 1970.
    time_of_day: Duration,
}

impl Clocks {
    pub(super) fn read() -> Self {
        // We may be interrupted between the two: the shortest of a few attempts was not.
        let attempt = |_| {
            let before = Instant::now();
            let time_of_day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (before.elapsed(), Self { instant: before, time_of_day })
        };
        let attempts: [(Duration, Self); 3] = std::array::from_fn(attempt);
        let [first, rest @ ..] = attempts;
        rest.into_iter().fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
    }

    /// Whether the difference between the two clocks has stayed the same since an earlier reading.
    fn agrees_with(&self, earlier: &Self) -> bool {
        let expected = earlier.time_of_day.saturating_add(self.instant.saturating_duration_since(earlier.instant));
        self.time_of_day.abs_diff(expected) <= DISAGREEMENT
    }

    /// The moment when the time of day was this many milliseconds since 1970. `None` for the future and for invalid values.
    fn instant_of(&self, milliseconds: f64) -> Option<Instant> {
        let since_1970 = Duration::try_from_secs_f64(milliseconds / 1e3).ok()?;
        self.instant.checked_sub(self.time_of_day.checked_sub(since_1970)?)
    }
}

/// The moment of readiness: the page's own if it is plausible, else the report's arrival.
///
/// It is plausible if the time of day was not set meanwhile, and it is between the request for the page and the report.
pub(super) fn moment(report: &Report, at_launch: &Clocks, now: &Clocks) -> Instant {
    let shown = report.shown.filter(|_| now.agrees_with(at_launch)).and_then(|shown| now.instant_of(shown));
    shown.filter(|shown| (report.requested..=report.arrived).contains(shown)).unwrap_or(report.arrived)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings 1 s apart, the page requested after 200 ms, the report arrived after 900 ms.
    fn told(shown: f64, set_by: Duration) -> Duration {
        let instant = Instant::now();
        let at = |ms| instant + Duration::from_millis(ms);
        let at_launch = Clocks { instant, time_of_day: Duration::from_secs(1_800_000_000) };
        let now = Clocks { instant: at(1000), time_of_day: at_launch.time_of_day + Duration::from_secs(1) + set_by };
        let report = Report { shown: Some(shown), requested: at(200), arrived: at(900) };
        moment(&report, &at_launch, &now) - instant
    }

    const LAUNCH: f64 = 1_800_000_000_000.0;
    const ARRIVED: Duration = Duration::from_millis(900);

    #[test]
    fn the_pages_moment_is_believed() {
        for (shown, expected) in [(500.0, 500_000), (700.5, 700_500), (200.5, 200_500), (899.5, 899_500)] {
            let told = told(LAUNCH + shown, Duration::ZERO);
            assert!(told.abs_diff(Duration::from_micros(expected)) < Duration::from_micros(2), "{told:?}");
        }
    }

    #[test]
    fn nonsense_is_not_believed() {
        let nonsense = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 0.0, -1.0];
        let elsewhere = [LAUNCH, LAUNCH + 150.0, LAUNCH + 950.0, LAUNCH + 5000.0, LAUNCH * 2.0, LAUNCH + 1e9];
        for shown in nonsense.into_iter().chain(elsewhere) {
            assert_eq!(told(shown, Duration::ZERO), ARRIVED, "{shown}");
        }
    }

    #[test]
    fn a_clock_that_was_set_is_not_believed() {
        assert_eq!(told(LAUNCH + 500.0, Duration::from_millis(2)), ARRIVED);
        assert_ne!(told(LAUNCH + 500.0, Duration::from_micros(500)), ARRIVED);
    }

    #[test]
    fn readings_agree() {
        // Not if the processor was taken away between the readings of one.
        assert!((0..100).any(|_| Clocks::read().agrees_with(&Clocks::read())));
    }
}
