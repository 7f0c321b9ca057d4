//! From a recorded working set to a prefetch plan, and its replay.
//!
//! Deciding and doing are apart: [`plan_prefetch`] is a pure function from what a start used and what the device is like
//! to a [`coldstart_profile::plan::PrefetchPlan`]; [`Replay`] does what a plan says and decides nothing. The device's
//! figures come from [`probe_device`], which reads a little of the files themselves, past the page cache.

mod beside;
mod choice;
mod cost;
mod planner;
mod probe;
mod replay;
mod windows;

pub use beside::{allow_many_files, replay_beside};
pub use choice::{Choice, Forecast, PlannedPages, choose_plan};
pub use cost::{readable_gap, request_time};
pub use planner::{PlanInput, Strategy, plan_prefetch, transfer_limit};
pub use probe::{ProbeError, probe_device};
pub use replay::{Replay, ReplayReport, TargetOutcome, check_targets};
