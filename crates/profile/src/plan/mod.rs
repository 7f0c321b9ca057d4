//! The prefetch plan: the reads of a replay, in order.
//!
//! The file is used in place, because a replay delays the program: [`PlanView`] checks
//! it once and then returns records without building anything. Format: `docs/formats/prefetch-plan.md`.

mod layout;
mod view;
mod write;

pub use layout::MAGIC;
pub use view::{PlanError, PlanView};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::{FileIdentity, PageRange};

/// The largest plan that is written or read, in bytes. It holds some eight million steps, and a large program's plan
/// some ten thousand.
pub const MOST_BYTES: u64 = 256 << 20;

/// A whole plan in memory, as the planner makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefetchPlan {
    /// Replay parameters and predictions.
    pub summary: PlanSummary,
    /// The recorded program and its arguments.
    pub command: Vec<OsString>,
    /// The targets of the steps.
    pub targets: Vec<Target>,
    /// The steps, in order. Windows ascend.
    pub steps: Vec<Step>,
}

/// The plan's fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanSummary {
    /// When it was recorded: seconds since 1970-01-01 UTC.
    pub recorded_at: i64,
    /// The recorded cold start, launch to readiness.
    pub recorded_start: Duration,
    /// A hot start on the same machine; zero when it was not measured.
    pub hot_start: Duration,
    /// Steps of windows below this number are done before the program starts, the others while it runs.
    pub windows_before_start: u32,
    /// Number of threads that replay.
    pub threads: u32,
    /// Longest single read, in pages, at least 1.
    pub chunk_pages: u32,
    /// The device the plan was made for.
    pub device: PlannedDevice,
    /// Predicted time of all steps, when nothing is resident.
    pub predicted_replay: Duration,
    /// Predicted cold start with this plan, launch to readiness; zero when no hot start was known.
    pub predicted_start: Duration,
}

impl PlanSummary {
    /// Whether the program waits for the whole replay.
    pub fn is_blocking(&self) -> bool {
        self.windows_before_start == u32::MAX
    }

    /// When it reads, in a word: "blocking", before the program starts, or "concurrent", beside it.
    pub fn strategy_name(&self) -> &'static str {
        if self.is_blocking() { "blocking" } else { "concurrent" }
    }
}

/// The planner's model of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedDevice {
    /// Time of one random 4 KiB read with nothing else under way.
    pub latency: Duration,
    /// Sequential bytes a second.
    pub bandwidth: u64,
    /// Random reads served at the same time, at least 1.
    pub parallel: u32,
    /// Whether disk order decides the time, as with one head.
    pub seeks: bool,
}

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute path.
    pub path: PathBuf,
    /// Its kind, and what to check before reading it.
    pub kind: TargetKind,
}

/// Kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A file whose pages are read if it still has this identity.
    File(FileIdentity),
    /// A file that changes at each start: read up to its current size.
    RewrittenFile(FileIdentity),
    /// A block device; needs permission to open it.
    BlockDevice,
    /// A name to look up.
    Name,
    /// A directory to list.
    Directory,
}

/// One step of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the target.
    pub target: u32,
    /// Steps of one window may be done in any order and at the same time.
    pub window: u32,
    /// Pages to read; `None` for names and directories.
    pub pages: Option<PageRange>,
    /// First use in the recorded start, from the launch; microsecond steps, at most 71 minutes.
    pub first_use: Duration,
    /// Offset on the device, in bytes, if known.
    pub physical: Option<u64>,
}
