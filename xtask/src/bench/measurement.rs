//! The parts of `coldstart measure --json` that figures need. Sizes are bytes, times seconds.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::statistics::{Estimate, ratio_estimate};

const SCHEMA: &str = "coldstart.measure/1";

/// A measurement.
#[derive(Debug, Deserialize)]
pub(super) struct Measurement {
    schema: String,
    pub(super) samples: Vec<Sample>,
    pub(super) summaries: Vec<Summary>,
    pub(super) comparisons: Vec<Comparison>,
}

/// Cache state before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Cold,
    Boot,
    Selective,
    Hot,
}

/// One start.
#[derive(Debug, Deserialize)]
pub(super) struct Sample {
    pub(super) command: usize,
    pub(super) state: State,
    pub(super) round: u32,
    pub(super) seconds: Option<f64>,
    used: Use,
}

/// Whether it counts.
#[derive(Debug, Deserialize)]
struct Use {
    #[serde(rename = "use")]
    how: String,
}

/// The figures of one command in one state.
#[derive(Debug, Deserialize)]
pub(super) struct Summary {
    pub(super) command: usize,
    pub(super) state: State,
    pub(super) counted: u32,
    pub(super) mean: Option<f64>,
    pub(super) mean_interval: Option<Interval>,
    pub(super) median: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Interval {
    low: f64,
    high: f64,
    confidence: f64,
}

/// A command against the first.
#[derive(Debug, Deserialize)]
pub(super) struct Comparison {
    pub(super) command: usize,
    pub(super) state: State,
    ratio: Option<f64>,
    interval: Option<Interval>,
    pub(super) verdict: Verdict,
}

/// What the comparison allows to claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    Faster,
    Slower,
    NotShown,
    TooFew,
}

/// The ratio of two commands.
#[derive(Debug)]
pub(super) struct Paired {
    /// `None` with too few pairs.
    pub(super) ratio: Option<Estimate>,
    /// Rounds in which both count.
    pub(super) pairs: usize,
}

impl Measurement {
    /// # Errors
    /// When the object has another schema or lacks something.
    pub(super) fn from_json(json: &Value) -> Result<Self> {
        let measurement = Self::deserialize(json)?;
        ensure!(measurement.schema == SCHEMA, "the measurement's schema is {}, not {SCHEMA}", measurement.schema);
        Ok(measurement)
    }

    pub(super) fn summary(&self, command: usize, state: State) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.command == command && summary.state == state)
    }

    pub(super) fn comparison(&self, command: usize, state: State) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.command == command && comparison.state == state)
    }

    /// Times that count, in order.
    pub(super) fn times(&self, command: usize, state: State) -> Vec<f64> {
        self.counted(command, state).map(|(_, seconds)| seconds).collect()
    }

    /// One command against another, paired by round; for pairs that have no comparison of their own.
    pub(super) fn ratio(&self, command: usize, baseline: usize, state: State) -> Paired {
        let baselines: Vec<(u32, f64)> = self.counted(baseline, state).collect();
        let of_round = |wanted| baselines.iter().find(|(round, _)| *round == wanted).map(|(_, seconds)| *seconds);
        let pairs: Vec<(f64, f64)> =
            self.counted(command, state).filter_map(|(round, seconds)| Some((seconds, of_round(round)?))).collect();
        Paired { ratio: ratio_estimate(&pairs), pairs: pairs.len() }
    }

    fn counted(&self, command: usize, state: State) -> impl Iterator<Item = (u32, f64)> {
        self.samples
            .iter()
            .filter(move |sample| sample.command == command && sample.state == state && sample.used.how == "counted")
            .filter_map(|sample| Some((sample.round, sample.seconds?)))
    }
}

impl Summary {
    /// The mean with its interval, if it has one.
    pub(super) fn mean_estimate(&self) -> Option<Estimate> {
        estimate(self.mean, self.mean_interval)
    }
}

impl Comparison {
    /// The ratio with its interval, if it has one.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        estimate(self.ratio, self.interval)
    }
}

fn estimate(value: Option<f64>, interval: Option<Interval>) -> Option<Estimate> {
    let Interval { low, high, confidence } = interval?;
    // The tables say 95 %; an interval of another kind must not stand under that heading.
    (confidence == 0.95).then_some(Estimate { value: value?, low, high })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// What `coldstart measure --json` prints for commands of which each has the given times, in one state.
    pub(in crate::bench) fn sample(state: &str, times: &[&[f64]]) -> Value {
        let mut samples = Vec::new();
        let mut summaries = Vec::new();
        let mut comparisons = Vec::new();
        for (command, times) in times.iter().enumerate() {
            for (index, seconds) in times.iter().enumerate() {
                samples.push(json!({
                    "number": samples.len() + 1, "command": command, "state": state, "round": index + 1, "attempt": 1,
                    "seconds": seconds, "end": {"how": "exited", "value": 0},
                    "residency": {"file_pages": 100, "resident_pages": 0, "unknown_files": 0, "missing_files": 0},
                    "bytes_read": 1, "major_faults": 1, "minor_faults": 1, "user_seconds": 0.1, "system_seconds": 0.1,
                    "devices": [{"device": "7:0", "requests": 5, "bytes": 4096, "read_ahead_kib": 128}],
                    "used": {"use": "counted"}
                }));
            }
            let mean = super::super::statistics::mean_estimate(times).unwrap();
            let (min, max) = super::super::statistics::range(times).unwrap();
            summaries.push(json!({
                "command": command, "state": state, "counted": times.len(), "failed": 0, "contradicting": 0,
                "mean": mean.value, "mean_interval": {"low": mean.low, "high": mean.high, "confidence": 0.95},
                "median": super::super::statistics::median(times), "min": min, "max": max,
                "standard_deviation": 0.1, "outliers": [], "bytes_read": 1.0, "requests": 5.0, "major_faults": 1.0,
                "state_facts": {"method": "caches dropped", "checked_before": true, "file_pages": 100,
                                "resident_pages": [0, 3], "stayed": []}
            }));
            if command > 0 {
                comparisons.push(json!({
                    "baseline": 0, "command": command, "state": state, "ratio": 0.25,
                    "interval": {"low": 0.2, "high": 0.3, "confidence": 0.95},
                    "wide_interval": {"low": 0.1, "high": 0.4, "confidence": 0.99},
                    "method": "paired-by-round", "samples": times.len(), "verdict": "faster"
                }));
            }
        }
        json!({
            "schema": SCHEMA,
            "machine": {"kernel": "6.18", "processor": "", "processor_count": 2, "governor": null, "memory": 1,
                        "devices": []},
            "commands": [], "samples": samples, "summaries": summaries, "comparisons": comparisons,
            "input_output": [], "launch_floor": 0.0005,
            "warnings": [{"kind": "interference", "samples": [3, 5], "others_bytes": 1_048_576}]
        })
    }

    /// As [`sample`], in the states cold and hot.
    pub(in crate::bench) fn both_states(cold: &[&[f64]], hot: &[&[f64]]) -> Value {
        let mut measurement = sample("cold", cold);
        let hot = sample("hot", hot);
        for list in ["samples", "summaries", "comparisons"] {
            let more = hot[list].as_array().unwrap().clone();
            measurement[list].as_array_mut().unwrap().extend(more);
        }
        measurement
    }

    #[test]
    fn a_measurement_is_read() {
        let json = sample("cold", &[&[4.0, 4.2], &[1.0, 1.1], &[2.0, 2.2]]);
        let measurement = Measurement::from_json(&json).unwrap();
        assert_eq!(measurement.summary(1, State::Cold).unwrap().median, Some(1.05));
        assert!(measurement.summary(1, State::Hot).is_none());
        assert_eq!(measurement.times(2, State::Cold), [2.0, 2.2]);
        let comparison = measurement.comparison(1, State::Cold).unwrap();
        assert_eq!(comparison.verdict, Verdict::Faster);
        assert_eq!(comparison.estimate(), Some(Estimate { value: 0.25, low: 0.2, high: 0.3 }));
        let paired = measurement.ratio(1, 2, State::Cold);
        assert!((paired.ratio.unwrap().value - 0.5).abs() < 1e-9, "{paired:?}");
        assert_eq!(paired.pairs, 2);
    }

    #[test]
    fn samples_that_do_not_count_are_left_out() {
        let mut json = sample("hot", &[&[1.0, 9.0, 1.2]]);
        json["samples"][1]["used"] = json!({"use": "contradicts", "reason": "it read 5 MiB"});
        let measurement = Measurement::from_json(&json).unwrap();
        assert_eq!(measurement.times(0, State::Hot), [1.0, 1.2]);
    }

    #[test]
    fn another_schema_and_another_confidence_are_refused() {
        let mut json = sample("hot", &[&[1.0, 1.0]]);
        json["summaries"][0]["mean_interval"]["confidence"] = json!(0.99);
        let measurement = Measurement::from_json(&json).unwrap();
        assert_eq!(measurement.summaries[0].mean_estimate(), None);
        json["schema"] = json!("coldstart.measure/2");
        assert!(Measurement::from_json(&json).is_err());
        assert!(Measurement::from_json(&json!({"schema": SCHEMA})).is_err());
    }
}
