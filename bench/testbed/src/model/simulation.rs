//! A model run without a disk, a mount or a clock: its figures without any overhead.
//!
//! `verify` prints these figures beside the measured ones, and the tests check the models against their targets.

use std::time::Duration;

use super::{DiskModel, Parameters, Request, RequestId, SplitMix64};

/// What a model gives by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prediction {
    /// Random 4 KiB reads a second, one at a time.
    pub(crate) iops_depth_1: f64,
    /// Random 4 KiB reads a second, 32 at a time.
    pub(crate) iops_depth_32: f64,
    /// Sequential reads of 1 MiB with the next one always under way, in 10^6 bytes a second.
    pub(crate) sequential_mb: f64,
}

/// What `parameters` should give on a disk of `disk_bytes`.
pub(crate) fn predict(parameters: &Parameters, disk_bytes: u64) -> Prediction {
    let random = |depth| random_reads(parameters.model(disk_bytes).as_mut(), disk_bytes, 4096, depth, 5000);
    Prediction {
        iops_depth_1: random(1),
        iops_depth_32: random(32),
        sequential_mb: sequential_reads(parameters.model(disk_bytes).as_mut(), 1 << 20, 2, 500),
    }
}

/// Reads a second when `depth` readers each read `length` bytes at random places, one read after another.
pub(super) fn random_reads(model: &mut dyn DiskModel, disk_bytes: u64, length: u64, depth: usize, count: u64) -> f64 {
    let mut random = SplitMix64::new(1);
    let blocks = disk_bytes / length;
    let elapsed = closed_loop(model, depth, count, |_| (random.below(blocks) * length, length));
    count as f64 / elapsed.as_secs_f64()
}

/// 10^6 bytes a second when a stream is read in pieces of `length` with `depth` under way.
pub(super) fn sequential_reads(model: &mut dyn DiskModel, length: u64, depth: usize, count: u64) -> f64 {
    let elapsed = closed_loop(model, depth, count, |index| (index * length, length));
    (count * length) as f64 / 1e6 / elapsed.as_secs_f64()
}

/// Keeps `depth` reads under way until `count` are done; the time of the last completion.
fn closed_loop(
    model: &mut dyn DiskModel,
    depth: usize,
    count: u64,
    mut place: impl FnMut(u64) -> (u64, u64),
) -> Duration {
    let mut now = Duration::ZERO;
    let mut submitted = 0;
    let mut submit = |model: &mut dyn DiskModel, now: Duration| {
        if submitted < count {
            let (offset, length) = place(submitted);
            model.submit(now, Request { id: RequestId(submitted), offset, length });
            submitted += 1;
        }
    };
    for _ in 0..depth {
        submit(model, now);
    }
    while let Some(next) = model.next_completion() {
        now = next;
        for _ in model.completed(now) {
            submit(model, now);
        }
    }
    now
}

/// Runs the model until nothing is left to do.
#[cfg(test)]
pub(super) fn drain(model: &mut dyn DiskModel) -> Vec<super::Completion> {
    let mut all = Vec::new();
    while let Some(next) = model.next_completion() {
        all.extend(model.completed(next));
    }
    all
}
