//! Stored measurements in rows over time: a pure function.
//!
//! Only what is alike stands in one row: the same command line, readiness and state, on what counts as the same machine,
//! brought back from the same saved state, at the same held frequency if any.

use crate::output::charset::either;
use coldstart_history::Stored;
use coldstart_measure::StartState;
use coldstart_measure::statistics::{mean, mean_interval, median, session_difference};
use coldstart_profile::measurement::{Interval, Machine, Verdict};
use serde::Serialize;

use super::baseline::{Condition, times};
use super::gate::states;

/// Measurements that may be compared with one another, oldest first.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) command_line: String,
    pub(super) readiness: String,
    pub(super) state: StartState,
    /// What else was done to get there, in words: which saved state was brought back, at which frequency the processors
    /// were held. Empty for the usual.
    pub(super) condition: String,
    #[serde(skip)]
    same: Condition,
    /// The machine, as it was first.
    pub(super) machine: Machine,
    pub(super) points: Vec<Point>,
}

/// One measurement.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    /// Its number in the history.
    pub(super) number: i64,
    pub(super) measured_at: i64,
    pub(super) label: Option<String>,
    /// What identifies the program's content, cut short.
    pub(super) program: Option<String>,
    /// Whether the program is known to be another than at the point before.
    pub(super) is_other_program: bool,
    /// Counted runs.
    pub(super) runs: usize,
    /// Seconds.
    pub(super) median: f64,
    /// Seconds.
    pub(super) mean: f64,
    /// Of the mean, 95 %.
    pub(super) interval: Option<Interval>,
    /// Against the point before, as far as two single sessions tell.
    pub(super) change: Option<Change>,
    #[serde(skip)]
    times: Vec<f64>,
}

/// A point against the one before.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    /// Time / time before.
    pub(super) ratio: f64,
    pub(super) verdict: Verdict,
}

/// Makes the rows of what was stored, oldest first. `is_wanted` tells by its command line and path whether a command is.
pub(super) fn series(stored: &[Stored], is_wanted: impl Fn(&str, Option<&str>) -> bool) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for Stored { number, kept } in stored {
        let measurement = &kept.measurement;
        for (index, command) in measurement.commands.iter().enumerate() {
            let program = kept.program(index);
            if !is_wanted(&command.command_line, program.map(|program| program.path.as_str())) {
                continue;
            }
            for state in states(measurement) {
                let times = times(&measurement.samples, index, state);
                // What was taken in from elsewhere may hold times of which there is no sum.
                let mean = mean(&times).filter(|mean| mean.is_finite());
                let (Some(median), Some(mean)) = (median(&times), mean) else { continue };
                let condition = Condition::of(measurement, index, state);
                let found = all.iter_mut().find(|series| {
                    (&series.command_line, &series.readiness, series.state)
                        == (&command.command_line, &command.readiness, state)
                        && measurement.machine.differences(&series.machine).is_empty()
                        && series.same == condition
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
                    times,
                };
                match found {
                    Some(series) => series.add(point),
                    None => all.push(Series {
                        command_line: command.command_line.clone(),
                        readiness: command.readiness.clone(),
                        state,
                        condition: condition.words(),
                        same: condition,
                        machine: measurement.machine.clone(),
                        points: vec![point],
                    }),
                }
            }
        }
    }
    all
}

impl Series {
    fn add(&mut self, mut point: Point) {
        if let Some(last) = self.points.last() {
            let difference = session_difference(std::slice::from_ref(&last.times), &point.times);
            point.change = difference.map(|difference| Change { ratio: difference.ratio, verdict: difference.verdict });
            point.is_other_program = last.program.is_some() && point.program.is_some() && last.program != point.program;
        }
        self.points.push(point);
    }

    /// The medians as a line of blocks, the smallest lowest.
    pub(super) fn sparkline(&self, most: usize) -> String {
        let blocks = either(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], ['_', '.', ':', '-', '=', '+', '*', '#']);
        let points = self.points.get(self.points.len().saturating_sub(most)..).unwrap_or_default();
        let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let most = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let block = |median: &f64| {
            // A row that hardly changes is shown as such and not blown up: a tenth is the least full height.
            let height = (median - least) / (most - least).max(least * 0.1);
            blocks.get((height * 7.0).round() as usize).copied().unwrap_or(blocks[0])
        };
        medians.iter().map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::measurement::KeptMeasurement;
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
        assert_eq!(series[0].sparkline(9), "▁██");
        assert_eq!(series[0].sparkline(1), "▁");
        assert!(super::series(&all, |_, _| false).is_empty());
    }

    #[test]
    fn other_saved_states_and_held_frequencies_have_a_row_of_their_own() {
        let booted = |number: i64, saved_at: i64, held: Option<u64>| Stored {
            number,
            kept: crate::commands::measure::baseline::tests::booted(saved_at, held),
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

    #[test]
    fn small_changes_look_small() {
        let all = [1.0, 1.01].map(|time| stored(1, "6.1", "exit", "aa", &[time; 4]));
        assert_eq!(series(&all, |_, _| true)[0].sparkline(9), "▁▂");
    }
}
