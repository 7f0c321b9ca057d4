//! The server's statistics, to check how a bed was used: how many reads were really concurrent, their sizes,
//! and the lateness of the replies compared with the model.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counters that two threads share. Each is right by itself; together they may be a request apart.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    reads: AtomicU64,
    bytes: AtomicU64,
    largest: AtomicU64,
    under_way: AtomicU64,
    deepest: AtomicU64,
    late_total_ns: AtomicU64,
    late_most_ns: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Reads that arrived.
    pub(crate) reads: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The longest read, in bytes.
    pub(crate) largest_bytes: u64,
    /// The most reads that were under way at once.
    pub(crate) deepest_queue: u64,
    /// How much later than the model's time answers were begun, on average, in microseconds.
    pub(crate) late_mean_us: u64,
    /// The same, at worst.
    pub(crate) late_most_us: u64,
}

impl Statistics {
    pub(super) fn arrived(&self, bytes: u64) {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.largest.fetch_max(bytes, Relaxed);
        let under_way = self.under_way.fetch_add(1, Relaxed) + 1;
        self.deepest.fetch_max(under_way, Relaxed);
    }

    pub(super) fn answered(&self, late: Duration) {
        let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.under_way.fetch_sub(1, Relaxed);
        self.late_total_ns.fetch_add(late, Relaxed);
        self.late_most_ns.fetch_max(late, Relaxed);
    }

    pub(super) fn to_json(&self) -> String {
        let reads = self.reads.load(Relaxed);
        let answered = reads.saturating_sub(self.under_way.load(Relaxed)).max(1);
        let figures = Figures {
            reads,
            bytes: self.bytes.load(Relaxed),
            largest_bytes: self.largest.load(Relaxed),
            deepest_queue: self.deepest.load(Relaxed),
            late_mean_us: self.late_total_ns.load(Relaxed) / answered / 1000,
            late_most_us: self.late_most_ns.load(Relaxed) / 1000,
        };
        serde_json::to_string(&figures).unwrap_or_default() + "\n"
    }
}
