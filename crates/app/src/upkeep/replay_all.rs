//! Replaying many plans after login, in the background.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_host::{machine, power, pressure};
use coldstart_prefetch::{Replay, allow_many_files};
use coldstart_profile::PAGE_SIZE;
use coldstart_profile::plan::PlanView;
use serde::Serialize;

use crate::prefetch::{read_plan, view_plan};

/// What must hold before each plan.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The highest share of time in which a task may have waited for memory, in percent.
    pub memory_pressure: f64,
    /// Plans may take at most this share of the available memory, all together and counted from the first, in percent.
    pub share_of_memory: u64,
    /// Whether to replay also on battery.
    pub on_battery: bool,
    /// The directory of power supplies.
    pub supplies: PathBuf,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { memory_pressure: 1.0, share_of_memory: 50, on_battery: false, supplies: power::SUPPLIES.into() }
    }
}

/// Why a plan was not replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Skipped {
    /// The machine runs on battery.
    Battery,
    /// Tasks waited for memory.
    MemoryPressure {
        /// For this share of the last 10 seconds, in percent.
        percent: f64,
    },
    /// Its pages do not fit into the memory that may be used.
    NotEnoughMemory {
        /// Bytes that the plan reads.
        needed: u64,
        /// Bytes that may still be used.
        left: u64,
    },
    /// It cannot be read.
    Unusable {
        /// Why.
        message: String,
    },
}

/// A plan and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReplay {
    /// Bytes requested; those in memory already cost nothing.
    pub bytes: u64,
    /// Steps left out, because their files changed.
    pub left_out: u64,
    /// Why it was not replayed.
    pub skipped: Option<Skipped>,
}

/// All plans, in their order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayAll {
    /// One for each plan.
    pub plans: Vec<PlanReplay>,
    /// Whether the idle I/O class could be used.
    pub idle_io_class: bool,
}

/// Replays plans one after the other, with one thread of the idle I/O class and the lowest priority. This thread stays so: call it in
/// a process or thread of its own. Memory and power are looked at before each plan; a battery or pressure ends it, a plan that is too
/// large or unusable is skipped.
pub fn replay_all(plans: &[PathBuf], conditions: &Conditions) -> ReplayAll {
    let idle_io_class = coldstart_sys::idle_priority::use_idle_io_class().is_ok();
    // Without it the replay is only less polite.
    let _ = rustix::process::setpriority_process(None, 19);
    allow_many_files();
    let available = machine::Memory::here().available.unwrap_or(u64::MAX);
    let mut left = (available / 100).saturating_mul(conditions.share_of_memory.min(100));
    let mut outcome = ReplayAll { plans: Vec::new(), idle_io_class };
    let mut stopped = None;
    for path in plans {
        stopped = stopped.or_else(|| conditions.against());
        let replayed = match &stopped {
            Some(reason) => Err(reason.clone()),
            None => replay_one(path, &mut left, conditions),
        };
        outcome.plans.push(match replayed {
            Ok((bytes, left_out)) => PlanReplay { bytes, left_out, skipped: None },
            Err(reason) => PlanReplay { bytes: 0, left_out: 0, skipped: Some(reason) },
        });
    }
    outcome
}

impl Conditions {
    fn against(&self) -> Option<Skipped> {
        if !self.on_battery && power::is_on_battery(&self.supplies) {
            return Some(Skipped::Battery);
        }
        let percent = pressure::now(pressure::MEMORY).filter(|percent| *percent > self.memory_pressure)?;
        Some(Skipped::MemoryPressure { percent })
    }
}

fn replay_one(path: &Path, left: &mut u64, conditions: &Conditions) -> Result<(u64, u64), Skipped> {
    let unusable = |error: crate::error::AppError| Skipped::Unusable { message: error.sentence() };
    let bytes = read_plan(path).map_err(unusable)?;
    let plan = view_plan(path, &bytes).map_err(unusable)?;
    let needed = bytes_of(&plan);
    // What memory became since the beginning counts, too.
    let now = machine::Memory::here().available.map_or(u64::MAX, |now| now / 2);
    if needed > (*left).min(now) {
        return Err(Skipped::NotEnoughMemory { needed, left: (*left).min(now) });
    }
    *left = left.saturating_sub(needed);
    let replay = Replay::new(plan);
    let stop = || conditions.against().is_some();
    replay.before_start(&stop);
    replay.queue_rest(&stop);
    let report = replay.report();
    Ok((report.bytes, report.left_out))
}

/// The bytes that a plan reads: at most the size of each file.
fn bytes_of(plan: &PlanView<'_>) -> u64 {
    let size = |target| {
        let (path, _) = plan.target(target)?;
        Some(std::fs::metadata(path).ok()?.size().div_ceil(PAGE_SIZE).saturating_mul(PAGE_SIZE))
    };
    let pages = plan.steps().filter_map(|step| {
        let pages = step.pages?;
        Some(pages.length().min(size(step.target)?.saturating_sub(pages.offset())))
    });
    pages.fold(0, u64::saturating_add)
}
