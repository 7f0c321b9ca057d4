//! Disk models: they compute when each read completes.
//!
//! A model is a pure state machine over its own clock. It never sleeps and never reads the time, so the same requests at
//! the same times give the same completions, in tests and in a mount. The server does the waiting.
//!
//! Not obvious: a late reply does not delay the model. Completions are computed in model time, so the
//! server's own delays (a busy processor, a coarse timer) do not add up over a stream of reads.

use std::time::Duration;

mod hdd;
mod network;
mod parameters;
mod simulation;
mod split_mix;

pub(crate) use parameters::{Kind, Parameters};
pub(crate) use simulation::predict;
pub(crate) use split_mix::SplitMix64;

/// Whose read it is; the caller's number, given back in the [`Completion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub(crate) u64);

/// A read of `length` bytes at byte `offset` of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A read that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) id: RequestId,
    /// Model time: since the model began.
    pub(crate) at: Duration,
}

/// A disk. `now` is time since the model began and must not go backwards from call to call.
pub(crate) trait DiskModel: Send {
    /// Takes a read that arrived at `now`.
    fn submit(&mut self, now: Duration, request: Request);

    /// When the next read completes if nothing else arrives; `None` when there is nothing to do.
    fn next_completion(&self) -> Option<Duration>;

    /// Hands over what was completed up to and including `now`, in order of time.
    fn completed(&mut self, now: Duration) -> Vec<Completion>;
}

/// Time to move `bytes` at `megabytes_per_second` (10^6 bytes, as drive makers count).
fn transfer_time(bytes: u64, megabytes_per_second: f64) -> Duration {
    // Request lengths and gaps are far below 2^53, so the conversion is exact.
    Duration::try_from_secs_f64(bytes as f64 / (megabytes_per_second * 1e6)).unwrap_or(Duration::MAX)
}
