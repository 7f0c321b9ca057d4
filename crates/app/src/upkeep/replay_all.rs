//! `installed --replay`: the plans of installed programs, read in the background, as after login.
//!
//! With the idle I/O class and the lowest priority, one plan after the other. What is against it ends it at once, in the middle of a
//! plan, too; everything that is left out is in the outcome, with its reason.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_host::machine;
use coldstart_install::place::LOGIN;
use coldstart_install::{Found, InstallError, InstallationState, Registry, Scope, Stored};
use coldstart_prefetch::{Replay, allow_many_files};
use coldstart_profile::PAGE_SIZE;
use coldstart_profile::plan::PlanView;
use serde::Serialize;

use super::conditions::{Conditions, Skipped, Watch};
use crate::error::AppError;
use crate::install::every_scope;
use crate::observer::Observer;
use crate::prefetch::{read_plan, view_plan};

/// Which plans, and when.
#[derive(Clone, Debug, Default)]
pub struct ReplayAllOptions {
    /// This installation; `None` for all that have the place [`LOGIN`].
    pub name: Option<OsString>,
    /// Only those of this user, also for root.
    pub only_user: bool,
    /// What must hold meanwhile.
    pub conditions: Conditions,
}

/// An installation and what became of its plan.
#[derive(Clone, Debug, Serialize)]
pub struct InstallationReplay {
    /// Its name.
    pub name: Stored,
    /// For whom it is.
    pub scope: Scope,
    /// Bytes requested; those in memory already cost nothing.
    pub bytes: u64,
    /// Steps left out: their files changed, or may not be read.
    pub left_out: u64,
    /// Why it was not replayed, or not to its end.
    pub skipped: Option<Skipped>,
}

/// All plans, in their order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayAll {
    /// One for each installation.
    pub installations: Vec<InstallationReplay>,
    /// Whether the idle I/O class could be used.
    pub idle_io_class: bool,
}

impl ReplayAll {
    /// Whether one was skipped for this reason.
    pub fn has_skipped(&self, is_it: impl Fn(&Skipped) -> bool) -> bool {
        self.installations.iter().filter_map(|replay| replay.skipped.as_ref()).any(is_it)
    }
}

/// Replays the plans. This thread keeps the lowest priority: call it in a process or thread of its own. `cancelled` ends it.
///
/// A registry that cannot be read is an error of the observer, and the others count.
///
/// # Errors
/// If the directories are unknown, or nothing of this name is installed.
pub fn replay_all(
    options: &ReplayAllOptions,
    cancelled: &(dyn Fn() -> bool + Sync),
    observer: &dyn Observer,
) -> Result<ReplayAll, AppError> {
    let wanted = wanted(options, observer)?;
    let idle_io_class = coldstart_sys::idle_priority::use_idle_io_class().is_ok();
    if !idle_io_class && !wanted.is_empty() {
        observer.note("the idle I/O class is not available here: reads may slow other programs down");
    }
    // Without it the replay is only less polite.
    let _ = rustix::process::setpriority_process(None, 19);
    allow_many_files();
    let watch = Watch::new(&options.conditions, cancelled);
    let available = machine::Memory::here().available.unwrap_or(u64::MAX);
    let mut left = (available / 100).saturating_mul(options.conditions.share_of_memory.min(100));
    let mut outcome = ReplayAll { installations: Vec::new(), idle_io_class };
    for wanted in wanted {
        let read = match wanted.plan {
            Ok(plan) => replay_one(&plan, &mut left, &watch),
            Err(reason) => PlanRead { skipped: Some(reason), ..PlanRead::default() },
        };
        outcome.installations.push(InstallationReplay {
            name: Stored::new(wanted.name),
            scope: wanted.scope,
            bytes: read.bytes,
            left_out: read.left_out,
            skipped: read.skipped,
        });
    }
    Ok(outcome)
}

/// An installation that takes part.
struct Wanted {
    name: OsString,
    scope: Scope,
    /// The plan's file, or why there is none.
    plan: Result<PathBuf, Skipped>,
}

fn wanted(options: &ReplayAllOptions, observer: &dyn Observer) -> Result<Vec<Wanted>, AppError> {
    let mut wanted = Vec::new();
    for directories in every_scope(options.only_user)? {
        let registry = Registry::new(&directories.registry);
        let found = match registry.list() {
            Ok(found) => found,
            Err(error) => {
                observer.error(error.into());
                continue;
            }
        };
        for found in found {
            let plan = match &options.name {
                Some(name) if *name == found.name => plan_of(&registry, &found),
                Some(_) => continue,
                // One that cannot be read may take part, so it is not passed over in silence.
                None if found
                    .manifest
                    .as_ref()
                    .is_some_and(|manifest| matches!(manifest, Ok(manifest) if !manifest.has_place(LOGIN))) =>
                {
                    continue;
                }
                None => plan_of(&registry, &found),
            };
            wanted.push(Wanted { name: found.name, scope: directories.scope, plan });
        }
    }
    match &options.name {
        Some(name) if wanted.is_empty() => Err(InstallError::NotInstalled { name: name.clone() }.into()),
        // One name in both scopes: the one that this user changes by default.
        Some(_) => Ok(wanted.into_iter().take(1).collect()),
        None => Ok(wanted),
    }
}

fn plan_of(registry: &Registry, found: &Found) -> Result<PathBuf, Skipped> {
    let unusable = |error: &InstallError| Skipped::Unusable { message: error.to_string() };
    let manifest = match &found.manifest {
        None => return Err(Skipped::HalfMade),
        Some(manifest) => manifest.as_ref().map_err(unusable)?,
    };
    match (manifest.state, manifest.body.has_plan) {
        (InstallationState::Installed, true) => {
            registry.installation(&found.name).map(|installation| installation.plan()).map_err(|error| unusable(&error))
        }
        (InstallationState::Installed, false) if manifest.body.image.is_some() => Err(Skipped::Image),
        (InstallationState::Installed, false) => Err(Skipped::NoPlan),
        (InstallationState::Installing | InstallationState::Uninstalling, _) => Err(Skipped::HalfMade),
    }
}

#[derive(Default)]
struct PlanRead {
    bytes: u64,
    left_out: u64,
    skipped: Option<Skipped>,
}

/// Replays a plan to its end, or until something is against it.
fn replay_one(path: &Path, left: &mut u64, watch: &Watch<'_>) -> PlanRead {
    let skipped = |reason| PlanRead { skipped: Some(reason), ..PlanRead::default() };
    if let Some(reason) = watch.against() {
        return skipped(reason);
    }
    let unusable = |error: AppError| Skipped::Unusable { message: error.sentence() };
    let bytes = match read_plan(path).map_err(unusable) {
        Ok(bytes) => bytes,
        Err(reason) => return skipped(reason),
    };
    let plan = match view_plan(path, &bytes).map_err(unusable) {
        Ok(plan) => plan,
        Err(reason) => return skipped(reason),
    };
    let needed = bytes_of(&plan);
    // What memory became since the beginning counts, too.
    let now = machine::Memory::here().available.map_or(u64::MAX, |now| now / 2);
    if needed > (*left).min(now) {
        return skipped(Skipped::NotEnoughMemory { needed, left: (*left).min(now) });
    }
    *left = left.saturating_sub(needed);
    let replay = Replay::new(plan);
    let stop = || watch.against().is_some();
    replay.before_start(&stop);
    replay.beside_program(&stop);
    let report = replay.report();
    PlanRead { bytes: report.bytes, left_out: report.left_out, skipped: watch.against() }
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
