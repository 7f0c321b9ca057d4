//! The outcome of a start, with times as in pages.

use coldstart_profile::trace::{Moment, Run};

/// When it was ready and how it ended.
pub(crate) fn ready(run: &Run) -> String {
    run.outcome(&run.readiness, time)
}

/// Three significant digits, as everywhere on the page (`web/src/format.ts`): `12.3 ms`, `2.89 s`, and whole seconds
/// from 100 on.
fn time(at: Moment) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "\u{b5}s")];
    let nanoseconds = at.0 as f64;
    // What would be rounded to a thousand is one of the next unit.
    let found = units.into_iter().find(|(size, _)| nanoseconds >= size * 0.9995);
    let Some((size, unit)) = found else { return format!("{} ns", at.0) };
    let value = nanoseconds / size;
    let digits = match value {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_as_far_as_they_are_known() {
        let run = Run { ready_at: Some(Moment(12_345_678)), ended_at: Moment(20_000_000_000), ..Run::default() };
        let window = Run { readiness: "window".to_owned(), ..run.clone() };
        assert_eq!(ready(&window), "after 12.3 ms (window); it was ended then, after 20.0 s");
        let imported = Run { readiness: "its end".to_owned(), ready_at: None, ..run };
        assert!(ready(&imported).starts_with("unknown"));
    }

    #[test]
    fn times_are_written_as_people_read_them() {
        let times = [
            0,
            999,
            1000,
            12_345,
            999_600,
            9_000_000,
            99_960_000,
            999_499_999,
            999_500_000,
            2_892_435_000,
            60_012_000_000,
            u64::MAX,
        ];
        let written = times.map(|at| time(Moment(at)));
        let expected = [
            "0 ns",
            "999 ns",
            "1.00 \u{b5}s",
            "12.3 \u{b5}s",
            "1.00 ms",
            "9.00 ms",
            "100 ms",
            "999 ms",
            "1.00 s",
            "2.89 s",
            "60.0 s",
            "18446744074 s",
        ];
        assert_eq!(written, expected);
    }
}
