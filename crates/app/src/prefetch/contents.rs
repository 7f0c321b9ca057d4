//! What a plan reads, and what of it no longer holds.

use std::collections::HashMap;
use std::time::Duration;

use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::JsonPath;
use coldstart_profile::plan::{PlanView, TargetKind};
use coldstart_view::numbers;
use serde::Serialize;

/// What a plan amounts to.
#[derive(Clone, Debug)]
pub struct PlanContents {
    /// By target: pages and steps.
    pub files: HashMap<u32, (u64, u64)>,
    /// Targets with pages in order of their first step.
    pub order: Vec<u32>,
    /// Names that are looked up.
    pub names: u64,
    /// Bytes that are read.
    pub bytes: u64,
    /// Targets that changed or are gone since.
    pub stale: Vec<(u32, TargetOutcome)>,
    /// Targets that this user may not read.
    pub unreadable: u64,
}

impl PlanContents {
    /// Counts, and looks at each target as it is now.
    pub fn gather(plan: &PlanView<'_>) -> Self {
        let mut contents =
            Self { files: HashMap::new(), order: Vec::new(), names: 0, bytes: 0, stale: Vec::new(), unreadable: 0 };
        for step in plan.steps() {
            let Some(pages) = step.pages else {
                contents.names += 1;
                continue;
            };
            contents.bytes += pages.length();
            let entry = contents.files.entry(step.target).or_insert_with(|| {
                contents.order.push(step.target);
                (0, 0)
            });
            *entry = (entry.0 + pages.count, entry.1 + 1);
        }
        for (number, outcome) in (0u32..).zip(check_targets(plan)) {
            match outcome {
                TargetOutcome::Changed { .. } | TargetOutcome::Missing => contents.stale.push((number, outcome)),
                TargetOutcome::Unreadable => contents.unreadable += 1,
                TargetOutcome::Current | TargetOutcome::NotChecked => {}
            }
        }
        contents
    }

    /// The same in serialisable form.
    pub fn outcome(&self, plan: &PlanView<'_>) -> PlanOutcome {
        let summary = plan.summary();
        let file = |&number: &u32| {
            let (path, kind) = plan.target(number)?;
            let (pages, steps) = self.files.get(&number).copied()?;
            let stale =
                self.stale.iter().find(|(stale, _)| *stale == number).map(|(_, outcome)| stale_reason(*outcome));
            Some(PlanFile { path: JsonPath::new(path), kind: kind_name(kind), pages, reads: steps, stale })
        };
        PlanOutcome {
            command: plan.command().iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            recorded_at: summary.recorded_at,
            strategy: if summary.is_blocking() { "blocking" } else { "concurrent" },
            threads: summary.threads,
            device: PlanDevice {
                latency_seconds: summary.device.latency.as_secs_f64(),
                bytes_per_second: summary.device.bandwidth,
                parallel: summary.device.parallel,
                seeks: summary.device.seeks,
            },
            bytes: self.bytes,
            reads: self.files.values().map(|(_, steps)| steps).sum(),
            names: self.names,
            recorded_start_seconds: summary.recorded_start.as_secs_f64(),
            hot_start_seconds: known(summary.hot_start),
            predicted_replay_seconds: summary.predicted_replay.as_secs_f64(),
            predicted_start_seconds: known(summary.predicted_start),
            files: self.order.iter().filter_map(file).collect(),
            stale_files: self.stale.len(),
            unreadable_files: self.unreadable,
        }
    }
}

/// What a plan reads, and what of it no longer holds.
#[derive(Clone, Debug, Serialize)]
pub struct PlanOutcome {
    /// The program that was recorded, and its arguments.
    pub command: Vec<String>,
    /// When, in seconds since 1970-01-01 UTC.
    pub recorded_at: i64,
    /// "blocking", before the program starts, or "concurrent", beside it.
    pub strategy: &'static str,
    /// Threads that read.
    pub threads: u32,
    /// What the device took when the plan was made.
    pub device: PlanDevice,
    /// Bytes that are read.
    pub bytes: u64,
    /// Reads that are made.
    pub reads: u64,
    /// Names that are looked up.
    pub names: u64,
    /// The start that was recorded.
    pub recorded_start_seconds: f64,
    /// A start without anything to read, where it is known.
    pub hot_start_seconds: Option<f64>,
    /// The replay when nothing is cached.
    pub predicted_replay_seconds: f64,
    /// A cold start with the plan, where it is known.
    pub predicted_start_seconds: Option<f64>,
    /// Targets with pages, in order of their first step.
    pub files: Vec<PlanFile>,
    /// Number of targets that changed or are gone since.
    pub stale_files: usize,
    /// Number of targets that this user may not read.
    pub unreadable_files: u64,
}

/// What a device takes for reads.
#[derive(Clone, Debug, Serialize)]
pub struct PlanDevice {
    /// Of one read.
    pub latency_seconds: f64,
    /// Of reads in a row.
    pub bytes_per_second: u64,
    /// Reads that it serves at once.
    pub parallel: u32,
    /// Whether it has a head that moves.
    pub seeks: bool,
}

/// A target of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanFile {
    /// Its path.
    #[serde(flatten)]
    pub path: JsonPath,
    /// What it is (see [`kind_name`]).
    pub kind: &'static str,
    /// Pages that are read of it.
    pub pages: u64,
    /// Reads that are made of it.
    pub reads: u64,
    /// Why it is not prefetched any more, if it is not.
    pub stale: Option<String>,
}

fn known(duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then_some(duration.as_secs_f64())
}

/// What a target is, in a word or two.
pub fn kind_name(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::File(_) => "file",
        TargetKind::RewrittenFile(_) => "rewritten file",
        TargetKind::BlockDevice => "metadata",
        TargetKind::Name => "name",
        TargetKind::Directory => "directory",
    }
}

/// Why a target is not prefetched any more.
pub fn stale_reason(outcome: TargetOutcome) -> String {
    match outcome {
        TargetOutcome::Changed { now } => {
            format!("changed since the recording (now {}): not prefetched", numbers::bytes(now.size))
        }
        _ => "missing, or of another file type than recorded: not prefetched".to_owned(),
    }
}
