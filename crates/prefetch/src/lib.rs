//! From a recorded working set to a prefetch plan, and its replay.
//!
//! Deciding and doing are separate: [`plan_prefetch`] is a pure function from the working set and the device
//! to a [`coldstart_profile::plan::PrefetchPlan`]; [`Replay`] executes a plan. The device's
//! figures come from [`probe_device`], which reads parts of the files themselves, bypassing the page cache.

mod beside;
mod choice;
mod cost;
mod merge;
mod planner;
mod probe;
mod replay;
mod windows;

pub use beside::{allow_many_files, replay_beside};
pub use choice::{Choice, Forecast, PlannedPages, choose_plan};
pub use cost::{readable_gap, request_time};
pub use merge::{Join, Merged, OtherVersions, Survey, worthwhile_share};
pub use planner::{PlanInput, Strategy, plan_prefetch, transfer_limit};
pub use probe::{ProbeError, probe_device};
pub use replay::{Replay, ReplayReport, TargetOutcome, check_targets, check_targets_inside};
