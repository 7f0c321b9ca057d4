//! What it costs to read parts of a file: the model by which another order is predicted.

use coldstart_profile::plan::PlannedDevice;

/// The kernel's readahead, in bytes: what lies closer is read in one piece.
const READAHEAD: u64 = 128 << 10;
/// Bytes of a page of a trace.
pub(super) const PAGE: u64 = 4096;
/// A saving below this share of the recorded cold start is not worth a change.
const LEAST_SHARE: f64 = 0.01;
/// The same in seconds: less cannot be measured.
const LEAST_SECONDS: f64 = 0.001;

/// Whether a saving is worth a change, for a start of so many seconds.
pub(super) fn is_worth(saved: f64, start: f64) -> bool {
    saved >= LEAST_SECONDS && saved >= start * LEAST_SHARE
}

/// What it costs to read ranges of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Farther apart than the kernel reads ahead.
    pub(super) pieces: u64,
    /// Of the ranges themselves.
    pub(super) bytes: u64,
    pub(super) seconds: f64,
}

/// Reads ranges (from, to), in bytes: one random read for each piece, and all bytes of it at the device's full bandwidth.
pub(super) fn reading(mut ranges: Vec<(u64, u64)>, device: &PlannedDevice) -> Reading {
    ranges.sort_unstable();
    let bytes = ranges.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
    let (mut pieces, mut read, mut end) = (0u64, 0u64, None);
    for (from, to) in ranges {
        let begin = match end {
            Some(end) if from <= u64::saturating_add(end, READAHEAD) => end,
            _ => {
                pieces = pieces.saturating_add(1);
                from
            }
        };
        read = read.saturating_add(to.saturating_sub(begin));
        end = Some(to.max(begin));
    }
    let seconds = pieces as f64 * device.latency.as_secs_f64() + read as f64 / device.bandwidth.max(1) as f64;
    Reading { pieces, bytes, seconds }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pieces_cost_a_read_each_and_what_lies_between_near_ones_is_read_too() {
        let device =
            PlannedDevice { latency: Duration::from_millis(10), bandwidth: 100_000_000, parallel: 1, seeks: true };
        let near = reading(vec![(200_000, 300_000), (0, 100_000), (0, 50_000)], &device);
        assert_eq!((near.pieces, near.bytes), (1, 250_000));
        assert!((near.seconds - 0.013).abs() < 1e-9, "{near:?}");
        let apart = reading(vec![(0, 100_000), (1_000_000, 1_100_000)], &device);
        assert_eq!(apart.pieces, 2);
        assert!((apart.seconds - 0.022).abs() < 1e-9, "{apart:?}");
        assert_eq!(reading(Vec::new(), &device), Reading { pieces: 0, bytes: 0, seconds: 0.0 });
    }
}
