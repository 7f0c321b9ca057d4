//! Replay of a plan without starting a program.

use std::path::Path;
use std::time::Instant;

use coldstart_prefetch::{Replay, allow_many_files};
use serde::Serialize;

use super::{read_plan, view_plan};
use crate::error::AppError;

/// The result of a replay.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReplayOutcome {
    /// Number of executed steps.
    pub steps: u64,
    /// Number of skipped steps: their files have changed or cannot be read.
    pub left_out: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Duration.
    pub seconds: f64,
    /// Predicted duration from a cold cache.
    pub predicted_seconds: f64,
}

/// Replays a plan to its end.
///
/// # Errors
/// If the plan cannot be read or is invalid.
pub fn replay(path: &Path) -> Result<ReplayOutcome, AppError> {
    let bytes = read_plan(path)?;
    let plan = view_plan(path, &bytes)?;
    allow_many_files();
    let start = Instant::now();
    let replay = Replay::new(plan);
    replay.before_start(&|| false);
    replay.beside_program(&|| false);
    let report = replay.report();
    Ok(ReplayOutcome {
        steps: report.steps,
        left_out: report.left_out,
        bytes: report.bytes,
        seconds: start.elapsed().as_secs_f64(),
        predicted_seconds: plan.summary().predicted_replay.as_secs_f64(),
    })
}
