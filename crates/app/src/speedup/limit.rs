//! What limits a start now, and the limit of all starts: a pure function of measured figures.

use coldstart_measure::StartState;
use coldstart_profile::measurement::{Measurement, Use};
use coldstart_profile::plan::PlannedDevice;
use serde::Serialize;

/// What a cold start waits for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// The processor: a hot start takes as long.
    Computing,
    /// Neither disk nor processor: other processes, timers, locks. A hot start takes as long.
    Waiting,
    /// The disk's bandwidth.
    Bytes,
    /// The movement of the disk's head.
    Seeks,
    /// The disk's answer to single reads.
    SingleReads,
}

impl LimitedBy {
    /// In words, for a table.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Waiting => "waiting for children or timers",
            Self::Bytes => "bytes to read",
            Self::Seeks => "seeks",
            Self::SingleReads => "single reads",
        }
    }
}

/// Medians of a start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Medians {
    pub(super) cold: f64,
    pub(super) hot: f64,
    /// Bytes read in the cold start.
    pub(super) bytes: Option<f64>,
    /// Processor time of the hot start.
    pub(super) processor: Option<f64>,
}

/// A cold start that takes at most this many times the hot one is not limited by the disk.
const LIKE_HOT: f64 = 1.1;
/// A hot start that uses less processor time than this share of its duration waits for something else.
const BUSY: f64 = 0.6;
/// Bytes limit a start if their transfer takes at least this share of the time that the cold start takes longer.
const MOSTLY_TRANSFER: f64 = 0.6;

pub(super) fn limited_by(medians: Medians, device: &PlannedDevice) -> LimitedBy {
    let Medians { cold, hot, bytes, processor } = medians;
    if cold <= hot * LIKE_HOT {
        let waits = processor.is_some_and(|processor| processor < hot * BUSY);
        return if waits { LimitedBy::Waiting } else { LimitedBy::Computing };
    }
    let transfer = bytes.unwrap_or(0.0) / device.bandwidth.max(1) as f64;
    // Reads beside the program overlap with its computing.
    if transfer >= cold * MOSTLY_TRANSFER || transfer >= (cold - hot) * MOSTLY_TRANSFER && transfer >= hot {
        LimitedBy::Bytes
    } else if device.seeks {
        LimitedBy::Seeks
    } else if transfer >= (cold - hot) * MOSTLY_TRANSFER {
        LimitedBy::Bytes
    } else {
        LimitedBy::SingleReads
    }
}

/// The shortest possible cold start on this device, in seconds: computing and reading overlap entirely, and only what is used
/// is read.
pub(super) fn limit(hot: f64, used_bytes: u64, device: &PlannedDevice) -> f64 {
    hot.max(used_bytes as f64 / device.bandwidth.max(1) as f64)
}

/// The medians of a command. `None` without a cold or a hot time.
pub(super) fn medians(measurement: &Measurement, command: usize, cold: StartState) -> Option<Medians> {
    let summary = |state| measurement.summaries.iter().find(|found| found.command == command && found.state == state);
    let processor: Vec<f64> = measurement
        .samples
        .iter()
        .filter(|sample| sample.command == command && sample.state == StartState::Hot && sample.used == Use::Counted)
        .filter_map(|sample| Some(sample.user_seconds? + sample.system_seconds?))
        .collect();
    Some(Medians {
        cold: summary(cold)?.median?,
        hot: summary(StartState::Hot)?.median?,
        bytes: summary(cold)?.bytes_read,
        processor: coldstart_measure::statistics::median(&processor),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn device(seeks: bool) -> PlannedDevice {
        PlannedDevice { latency: Duration::from_millis(1), bandwidth: 100_000_000, parallel: 8, seeks }
    }

    fn by(cold: f64, hot: f64, megabytes: f64, processor: f64, seeks: bool) -> LimitedBy {
        let medians = Medians { cold, hot, bytes: Some(megabytes * 1e6), processor: Some(processor) };
        limited_by(medians, &device(seeks))
    }

    #[test]
    fn a_start_is_limited_by_what_it_waits_for_most() {
        assert_eq!(by(1.05, 1.0, 50.0, 0.95, false), LimitedBy::Computing);
        assert_eq!(by(1.05, 1.0, 50.0, 0.2, false), LimitedBy::Waiting);
        assert_eq!(by(4.0, 0.5, 300.0, 0.5, true), LimitedBy::Bytes);
        assert_eq!(by(13.0, 0.9, 130.0, 0.9, true), LimitedBy::Seeks);
        assert_eq!(by(3.5, 0.9, 100.0, 0.9, false), LimitedBy::SingleReads);
    }

    #[test]
    fn the_limit_is_the_longer_of_computing_and_reading() {
        assert!((limit(0.5, 100_000_000, &device(false)) - 1.0).abs() < 1e-9);
        assert!((limit(2.0, 100_000_000, &device(false)) - 2.0).abs() < 1e-9);
    }
}
