//! A replay without a program, to see what it does.

use std::path::Path;
use std::time::Instant;

use coldstart_prefetch::{Replay, allow_many_files};
use serde::Serialize;

use super::{read_plan, view_plan};
use crate::error::AppError;

/// What a replay did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReplayOutcome {
    /// Steps of the plan that were done.
    pub steps: u64,
    /// Steps that were left out: their files changed, or cannot be read.
    pub left_out: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// What it took.
    pub seconds: f64,
    /// What it takes when nothing is cached, as the plan predicts.
    pub predicted_seconds: f64,
}

/// Replays a plan and waits for its end.
///
/// # Errors
/// When the plan cannot be read, or is none.
pub fn replay(path: &Path) -> Result<ReplayOutcome, AppError> {
    let bytes = read_plan(path)?;
    let plan = view_plan(path, &bytes)?;
    allow_many_files();
    let start = Instant::now();
    let replay = Replay::new(plan);
    replay.before_start(&|| false);
    replay.beside_program();
    let report = replay.report();
    Ok(ReplayOutcome {
        steps: report.steps,
        left_out: report.left_out,
        bytes: report.bytes,
        seconds: start.elapsed().as_secs_f64(),
        predicted_seconds: plan.summary().predicted_replay.as_secs_f64(),
    })
}
