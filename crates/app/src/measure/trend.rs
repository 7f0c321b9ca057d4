//! Stored measurements as time series: a pure function.
//!
//! A series has the same command line, readiness, state and machine, the same restored page cache state, and the same fixed
//! frequency if any.

use coldstart_history::Stored;
use coldstart_measure::statistics::{mean, mean_interval, median, session_difference};
use coldstart_profile::measurement::{Change, Point, Series};

use super::condition::{Condition, measured_states, times};

/// A row under construction.
struct Row {
    series: Series,
    same: Condition,
    /// Of the last point.
    times: Vec<f64>,
}

/// Makes the rows of what was stored, oldest first. `is_wanted` tells by its command line and path whether a command is.
pub(super) fn series(stored: &[Stored], is_wanted: impl Fn(&str, Option<&str>) -> bool) -> Vec<Series> {
    let mut all: Vec<Row> = Vec::new();
    for Stored { number, kept } in stored {
        let measurement = &kept.measurement;
        for (index, command) in measurement.commands.iter().enumerate() {
            let program = kept.program(index);
            if !is_wanted(&command.command_line, program.map(|program| program.path.as_str())) {
                continue;
            }
            for state in measured_states(measurement) {
                let times = times(&measurement.samples, index, state);
                // What was taken in from elsewhere may hold times of which there is no sum.
                let mean = mean(&times).filter(|mean| mean.is_finite());
                let (Some(median), Some(mean)) = (median(&times), mean) else { continue };
                let condition = Condition::of(measurement, index, state);
                let found = all.iter_mut().find(|row| {
                    (&row.series.command_line, &row.series.readiness, row.series.state)
                        == (&command.command_line, &command.readiness, state)
                        && measurement.machine.differences(&row.series.machine).is_empty()
                        && row.same == condition
                });
                let point = Point {
                    number: *number,
                    measured_at: kept.measured_at,
                    label: kept.label.clone(),
                    program: program.and_then(|program| program.short()).map(str::to_owned),
                    is_other_program: false,
                    runs: times.len(),
                    median,
                    mean,
                    interval: mean_interval(&times, 0.95)
                        .filter(|interval| interval.low.is_finite() && interval.high.is_finite()),
                    change: None,
                };
                match found {
                    Some(row) => row.add(point, times),
                    None => {
                        let series = Series {
                            command_line: command.command_line.clone(),
                            readiness: command.readiness.clone(),
                            state,
                            condition: condition.words(),
                            machine: measurement.machine.clone(),
                            points: vec![point],
                        };
                        all.push(Row { series, same: condition, times });
                    }
                }
            }
        }
    }
    all.into_iter().map(|row| row.series).collect()
}

impl Row {
    fn add(&mut self, mut point: Point, times: Vec<f64>) {
        if let Some(last) = self.series.points.last() {
            let difference = session_difference(std::slice::from_ref(&self.times), &times);
            point.change = difference.map(|difference| Change { ratio: difference.ratio, verdict: difference.verdict });
            point.is_other_program = last.program.is_some() && point.program.is_some() && last.program != point.program;
        }
        self.series.points.push(point);
        self.times = times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::measurement::{KeptMeasurement, Verdict};
    use serde_json::json;

    fn stored(number: i64, kernel: &str, readiness: &str, build_id: &str, times: &[f64]) -> Stored {
        let sample = |(index, seconds): (usize, &f64)| {
            json!({"number": index + 1, "command": 0, "state": "hot", "round": index + 1, "attempt": 1,
                   "seconds": seconds, "end": {"how": "exited", "value": 0}, "residency": null, "bytes_read": 0,
                   "major_faults": 0, "minor_faults": 0, "user_seconds": 0.0, "system_seconds": 0.0, "devices": [],
                   "used": {"use": "counted"}})
        };
        let kept: KeptMeasurement = serde_json::from_value(json!({
            "id": number.to_string(), "measured_at": number, "label": null,
            "programs": [{"path": "/p", "file": {"size": 1, "modified": 1}, "build_id": build_id, "content_hash": null}],
            "machine": {"kernel": kernel, "processor": "", "processor_count": 1, "governor": null, "memory": 1,
                        "devices": []},
            "commands": [{"label": "A", "command_line": "p", "readiness": readiness, "file_count": 0}],
            "samples": times.iter().enumerate().map(sample).collect::<Vec<_>>(),
            "summaries": [{"command": 0, "state": "hot", "counted": 1, "failed": 0, "contradicting": 0, "mean": null,
                           "mean_interval": null, "median": null, "min": null, "max": null,
                           "standard_deviation": null, "outliers": [], "bytes_read": null, "requests": null,
                           "major_faults": null, "state_facts": {"method": "", "checked_before": true,
                           "file_pages": null, "resident_pages": null, "stayed": []}}],
            "comparisons": [], "input_output": [], "launch_floor": null, "warnings": []
        }))
        .unwrap();
        Stored { number, kept }
    }

    #[test]
    fn only_what_is_alike_stands_in_a_row() {
        let all = [
            stored(1, "6.1", "exit", "aa", &[1.0; 4]),
            stored(2, "6.1", "exit", "bb", &[5.0; 4]),
            stored(3, "6.6", "exit", "bb", &[9.0; 4]),
            stored(4, "6.1", "port:80", "bb", &[9.0; 4]),
            stored(5, "6.1", "exit", "bb", &[5.0; 4]),
            stored(6, "6.1", "exit", "bb", &[]),
            stored(7, "6.1", "exit", "bb", &[f64::MAX; 4]),
        ];
        let series = series(&all, |line, path| line == "p" && path == Some("/p"));
        let numbers: Vec<Vec<i64>> =
            series.iter().map(|series| series.points.iter().map(|point| point.number).collect()).collect();
        assert_eq!(numbers, [vec![1, 2, 5], vec![3], vec![4]]);
        let points = &series[0].points;
        assert_eq!(points.iter().map(|point| point.is_other_program).collect::<Vec<_>>(), [false, true, false]);
        let verdict = |index: usize| points[index].change.as_ref().map(|change| change.verdict);
        assert_eq!([verdict(0), verdict(1), verdict(2)], [None, Some(Verdict::Slower), Some(Verdict::NotShown)]);
        assert!(super::series(&all, |_, _| false).is_empty());
    }

    #[test]
    fn other_saved_states_and_held_frequencies_have_a_row_of_their_own() {
        let booted = |number: i64, saved_at: i64, held: Option<u64>| Stored {
            number,
            kept: crate::measure::baseline::tests::booted(saved_at, held),
        };
        let all = [booted(1, 60, None), booted(2, 120, None), booted(3, 60, None), booted(4, 60, Some(2100))];
        let rows: Vec<(String, Vec<i64>)> = series(&all, |_, _| true)
            .into_iter()
            .map(|series| (series.condition, series.points.iter().map(|point| point.number).collect()))
            .collect();
        assert_eq!(
            rows,
            [
                ("from `60.pagecache` of 1970-01-01 00:01 UTC".to_owned(), vec![1, 3]),
                ("from `120.pagecache` of 1970-01-01 00:02 UTC".to_owned(), vec![2]),
                ("from `60.pagecache` of 1970-01-01 00:01 UTC, held at 2100 MHz".to_owned(), vec![4]),
            ]
        );
    }
}
