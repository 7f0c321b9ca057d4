//! The contents of a plan, and its stale targets.

use std::collections::HashMap;
use std::time::Duration;

use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::JsonPath;
use coldstart_profile::plan::{PlanView, TargetKind};
use coldstart_view::numbers;
use serde::Serialize;

/// The contents of a plan.
#[derive(Clone, Debug)]
pub struct PlanContents {
    /// By target: pages and steps.
    pub files: HashMap<u32, (u64, u64)>,
    /// Targets with pages in order of their first step.
    pub order: Vec<u32>,
    /// Number of names to look up.
    pub names: u64,
    /// Bytes that are read.
    pub bytes: u64,
    /// Targets that have changed or are missing.
    pub stale: Vec<(u32, TargetOutcome)>,
    /// Targets not readable by this user.
    pub unreadable: u64,
}

impl PlanContents {
    /// Collects the contents, and checks the current state of each target.
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
            strategy: summary.strategy_name(),
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

/// The contents of a plan, and its stale targets.
#[derive(Clone, Debug, Serialize)]
pub struct PlanOutcome {
    /// The recorded program and its arguments.
    pub command: Vec<String>,
    /// Time of the recording, in seconds since 1970-01-01 UTC.
    pub recorded_at: i64,
    /// "blocking", before the program starts, or "concurrent", in parallel with it.
    pub strategy: &'static str,
    /// Number of reading threads.
    pub threads: u32,
    /// The device's performance at the recording.
    pub device: PlanDevice,
    /// Bytes that are read.
    pub bytes: u64,
    /// Reads that are made.
    pub reads: u64,
    /// Number of names to look up.
    pub names: u64,
    /// Duration of the recorded start.
    pub recorded_start_seconds: f64,
    /// Duration of a hot start, if known.
    pub hot_start_seconds: Option<f64>,
    /// Predicted duration of the replay from a cold cache.
    pub predicted_replay_seconds: f64,
    /// Predicted duration of a cold start with the plan, if known.
    pub predicted_start_seconds: Option<f64>,
    /// Targets with pages, in order of their first step.
    pub files: Vec<PlanFile>,
    /// Number of targets that have changed or are missing.
    pub stale_files: usize,
    /// Number of targets not readable by this user.
    pub unreadable_files: u64,
}

/// The read performance of a device.
#[derive(Clone, Debug, Serialize)]
pub struct PlanDevice {
    /// Latency of one read.
    pub latency_seconds: f64,
    /// Bandwidth of sequential reads.
    pub bytes_per_second: u64,
    /// Number of reads served in parallel.
    pub parallel: u32,
    /// Whether it has a moving head.
    pub seeks: bool,
}

/// A target of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanFile {
    /// Its path.
    #[serde(flatten)]
    pub path: JsonPath,
    /// Its kind (see [`kind_name`]).
    pub kind: &'static str,
    /// Number of pages to read.
    pub pages: u64,
    /// Number of reads.
    pub reads: u64,
    /// Why it is no longer prefetched, if stale.
    pub stale: Option<String>,
}

fn known(duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then_some(duration.as_secs_f64())
}

/// The kind of a target as text.
pub fn kind_name(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::File(_) => "file",
        TargetKind::RewrittenFile(_) => "rewritten file",
        TargetKind::BlockDevice => "metadata",
        TargetKind::Name => "name",
        TargetKind::Directory => "directory",
    }
}

/// Why a target is no longer prefetched.
pub fn stale_reason(outcome: TargetOutcome) -> String {
    match outcome {
        TargetOutcome::Changed { now } => {
            format!("changed since the recording (now {}): not prefetched", numbers::bytes(now.size))
        }
        _ => "missing, or of another file type than recorded: not prefetched".to_owned(),
    }
}
