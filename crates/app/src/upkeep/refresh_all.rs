//! `installed --refresh` without a name: every stale installation recorded again, one after the other.
//!
//! Not obvious: packages may be upgraded meanwhile, and nobody tells us of that (a path unit does not watch while its service
//! runs). So the databases of the package managers are compared before and after a round, and another round follows if they
//! changed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coldstart_install::{Scope, Stored};
use serde::Serialize;

use super::idle::{self, IdleWait};
use crate::error::AppError;
use crate::install::{
    InstallationReport, Located, RefreshOutcome, Remedy, installations_with, is_root, list, refresh_located,
};
use crate::observer::Observer;
use crate::prefetch::MakeCold;

/// Rounds after which it ends, however often packages are upgraded.
const MOST_ROUNDS: usize = 5;

/// Which installations, and when.
#[derive(Clone, Debug, Default)]
pub struct RefreshAllOptions {
    /// Only those of this user, also for root.
    pub only_user: bool,
    /// Only those with a place of this kind: "upgrades".
    pub place: Option<String>,
    /// Wait for an idle machine before each, at most so long in all, and leave what others have in memory there.
    pub when_idle: Option<Duration>,
}

/// What was done, and what was not.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RefreshAll {
    /// Recorded again.
    pub refreshed: Vec<RefreshOutcome>,
    /// Not recorded, and not because something failed.
    pub left: Vec<LeftAsIs>,
    /// Could not be recorded; the reason went to the observer. The old plan is in use.
    pub failed: Vec<Stored>,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

/// An installation that is not fresh and was not recorded.
#[derive(Clone, Debug, Serialize)]
pub struct LeftAsIs {
    /// Its name.
    pub name: Stored,
    /// For whom it is.
    pub scope: Scope,
    /// Why.
    pub why: WhyLeft,
    /// What to do about it: a command.
    pub next_step: Option<String>,
}

/// Why an installation was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeft {
    /// The machine was busy for the longest wait.
    Busy,
    /// Only root may change it.
    NotPermitted,
    /// It is broken, and recording does not help.
    NeedsAnotherStep,
    /// It was recorded, and files of the new plan have changed since.
    StaleAgain,
}

/// An installation as it is told apart.
type Key = (OsString, bool);

/// Records again what is stale, or broken in a way that recording heals. One failure does not stop the others. `cancelled` ends it
/// between two installations; a signal that the launch sees ends a recording, too. The old plan is then in use.
///
/// # Errors
/// If the installations cannot be listed.
pub fn refresh_all(
    options: &RefreshAllOptions,
    cancelled: &dyn Fn() -> bool,
    observer: &dyn Observer,
) -> Result<RefreshAll, AppError> {
    let deadline = options.when_idle.map(Deadline::after);
    let make_cold = if options.when_idle.is_some() { MakeCold::OwnFiles } else { MakeCold::Everything };
    let mut outcome = RefreshAll::default();
    let mut failed: HashSet<Key> = HashSet::new();
    for _ in 0..MOST_ROUNDS {
        let mut is_busy = wait(deadline, cancelled, observer) == IdleWait::StillBusy;
        let before = state_of_databases();
        let stale = not_fresh(options)?;
        outcome.left.clear();
        let mut has_recorded = false;
        for report in stale {
            let key = key_of(&report.name, report.scope);
            if cancelled() {
                outcome.interrupted = true;
                return Ok(outcome);
            }
            if failed.contains(&key) {
                continue;
            }
            if let Some(why) = reason_to_leave(&report) {
                outcome.left.push(left(report, why));
                continue;
            }
            is_busy = is_busy || (has_recorded && wait(deadline, cancelled, observer) == IdleWait::StillBusy);
            if is_busy && !cancelled() {
                outcome.left.push(left(report, WhyLeft::Busy));
                continue;
            }
            has_recorded = true;
            match refresh_one(&report, options.only_user, make_cold, observer) {
                Ok(refreshed) => {
                    outcome.refreshed.retain(|earlier| key_of(&earlier.name, earlier.scope) != key);
                    outcome.refreshed.push(refreshed);
                }
                Err(_) if cancelled() => {
                    outcome.interrupted = true;
                    return Ok(outcome);
                }
                Err(error) => {
                    observer.error(error);
                    outcome.failed.push(report.name);
                    failed.insert(key);
                }
            }
        }
        if !has_recorded || is_busy || state_of_databases() == before {
            break;
        }
    }
    outcome.interrupted = cancelled();
    let refreshed: HashSet<Key> = outcome.refreshed.iter().map(|done| key_of(&done.name, done.scope)).collect();
    let left_already: HashSet<Key> = outcome.left.iter().map(|left| key_of(&left.name, left.scope)).collect();
    if !refreshed.is_empty() {
        let again = not_fresh(options)?.into_iter().filter(|report| {
            let key = key_of(&report.name, report.scope);
            refreshed.contains(&key) && !left_already.contains(&key)
        });
        outcome.left.extend(again.map(|report| left(report, WhyLeft::StaleAgain)));
    }
    Ok(outcome)
}

/// Waits as [`RefreshAllOptions::when_idle`] says, for what is not refreshed by [`refresh_all`].
pub fn wait_until_idle(longest: Duration, cancelled: &dyn Fn() -> bool, observer: &dyn Observer) -> IdleWait {
    wait(Some(Deadline::after(longest)), cancelled, observer)
}

/// The end of all waiting; `None` is out of reach.
#[derive(Clone, Copy)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(longest: Duration) -> Self {
        Self(Instant::now().checked_add(longest))
    }

    fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }
}

fn wait(deadline: Option<Deadline>, cancelled: &dyn Fn() -> bool, observer: &dyn Observer) -> IdleWait {
    let Some(deadline) = deadline else { return IdleWait::Idle };
    if idle::wait_until_idle(Duration::ZERO, cancelled) == IdleWait::Idle {
        return IdleWait::Idle;
    }
    observer.note("waiting until the machine is idle");
    idle::wait_until_idle(deadline.left(), cancelled)
}

fn not_fresh(options: &RefreshAllOptions) -> Result<Vec<InstallationReport>, AppError> {
    let listing = installations_with(list(None, options.only_user)?, options.place.as_deref());
    Ok(listing.installations.into_iter().filter(|report| report.remedy.is_some()).collect())
}

fn reason_to_leave(report: &InstallationReport) -> Option<WhyLeft> {
    match report.remedy {
        Some(Remedy::Refresh) if report.scope == Scope::System && !is_root() => Some(WhyLeft::NotPermitted),
        Some(Remedy::Refresh) => None,
        Some(Remedy::Repair | Remedy::Uninstall) | None => Some(WhyLeft::NeedsAnotherStep),
    }
}

fn left(report: InstallationReport, why: WhyLeft) -> LeftAsIs {
    LeftAsIs { name: report.name, scope: report.scope, why, next_step: report.next_step }
}

fn key_of(name: &Stored, scope: Scope) -> Key {
    (name.word().to_owned(), scope == Scope::System)
}

fn refresh_one(
    report: &InstallationReport,
    only_user: bool,
    make_cold: MakeCold,
    observer: &dyn Observer,
) -> Result<RefreshOutcome, AppError> {
    let located = Located::in_scope(report.scope, only_user)?;
    refresh_located(report.name.word(), &located, make_cold, observer)
}

/// What changes when a package manager writes its database.
fn state_of_databases() -> Vec<(PathBuf, i64, i64, u64)> {
    let state = |path: PathBuf| {
        let found = path.metadata().ok()?;
        Some((path, found.mtime(), found.mtime_nsec(), found.ino()))
    };
    coldstart_packages::databases(Path::new("/")).into_iter().filter_map(state).collect()
}
