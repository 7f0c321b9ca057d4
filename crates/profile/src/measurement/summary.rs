//! The figures of one command in one state.

use serde::{Deserialize, Serialize};

use super::StartState;

/// The figures of one command in one state, over its counted samples. Those that need more samples are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Index into the measurement's commands.
    pub command: usize,
    /// The state.
    pub state: StartState,
    /// Samples that count.
    pub counted: u32,
    /// Samples left out because the program failed.
    pub failed: u32,
    /// Samples left out because they contradict the state.
    pub contradicting: u32,
    /// Mean time in seconds.
    pub mean: Option<f64>,
    /// Where the mean lies with 95 % confidence (Student's t); `None` with fewer than two samples.
    pub mean_interval: Option<Interval>,
    /// Median time in seconds.
    pub median: Option<f64>,
    /// Least time in seconds.
    pub min: Option<f64>,
    /// Largest time in seconds.
    pub max: Option<f64>,
    /// Standard deviation of the sample in seconds (n - 1); `None` with fewer than two samples.
    pub standard_deviation: Option<f64>,
    /// Counted samples that lie far from the others.
    pub outliers: Vec<Outlier>,
    /// Median of the bytes read by the program's processes, over the samples of which they are known.
    pub bytes_read: Option<f64>,
    /// Median of the requests to the devices that hold its files, by anybody.
    pub requests: Option<f64>,
    /// Median of the page faults that waited for I/O, likewise.
    pub major_faults: Option<f64>,
    /// How the state was prepared and checked.
    pub state_facts: StateFacts,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// 0.95, 0.99.
    pub confidence: f64,
}

impl Interval {
    /// Whether the value is inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A sample far from the others: more than 3.5 robust standard deviations from the median (Iglewicz and Hoaglin 1993).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    /// The sample's number.
    pub sample: u32,
    /// Its time in seconds.
    pub seconds: f64,
}

/// How a state was prepared, and the result of its check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFacts {
    /// What was done, a sentence's end.
    pub method: String,
    /// Whether residency before each counted launch is known for every file.
    pub checked_before: bool,
    /// Pages of the files, in the last counted sample that tells.
    pub file_pages: Option<u64>,
    /// Least and most pages resident before a counted launch.
    pub resident_pages: Option<(u64, u64)>,
    /// The files that stayed in memory despite eviction, most pages first; cold and selective only.
    pub stayed: Vec<StayedFile>,
    /// How the files' metadata was evicted, by way; selective only.
    #[serde(default)]
    pub ways: Vec<EvictionWay>,
    /// How close each run came to the saved state; boot only.
    #[serde(default)]
    pub saved_state: Option<SavedStateFacts>,
}

/// How close the runs came to a saved state of the page cache. Pages are of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedStateFacts {
    /// The file it was read from.
    pub file: String,
    /// When it was saved, in seconds since 1970-01-01 UTC.
    pub saved_at: i64,
    /// Saved pages.
    pub asked: u64,
    /// Fewest pages restored before a launch.
    pub least_back: u64,
    /// Most unrequested pages in memory of its files and devices.
    pub most_extra: u64,
    /// Its files and devices that were removed or changed.
    pub lost_files: u64,
    /// Their pages, which therefore could not be restored.
    pub lost_pages: u64,
    /// The first of them.
    pub lost_example: Option<String>,
}

/// One way by which metadata was evicted, over all runs of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvictionWay {
    /// `control group`, `entries`, or a block device's path.
    pub way: String,
    /// What is counted: `bytes`, `entries` or `pages` (of 4 KiB).
    pub unit: String,
    /// How often it was used.
    pub times: u32,
    /// The total amount before.
    pub before: u64,
    /// The total amount afterwards.
    pub after: u64,
    /// Why it was not used the last time.
    pub refused: Option<String>,
}

/// A file that stayed in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StayedFile {
    /// Its path; bytes that are not UTF-8 as U+FFFD.
    pub path: String,
    /// Most pages that stayed in any run, of 4 KiB.
    pub pages: u64,
}
