//! The best fixes, installed: files replaced, a plan recorded or an image made with them in place, and the program compared once more.

use coldstart_install::Scope;
use coldstart_install::place::PlaceChoice;
use coldstart_launch::{CommandLine, LaunchOptions};

use super::proof::start;
use super::sameness::{Start, compare};
use super::story::Story;
use crate::error::{AppError, HintExt};
use crate::fix_kind::FixKind;
use crate::index::check;
use crate::install::{InstallOutcome, InstallRequest, install, refresh, uninstall};
use crate::observer::Observer;

/// Whether nothing of the index has changed since it was made.
fn is_fresh(outcome: &InstallOutcome) -> bool {
    let index = outcome.index.as_ref().map(|index| check(index.directory.path()));
    index.is_none_or(|checked| checked.is_ok_and(|checked| checked.fresh))
}

/// Starts that are compared with the plain ones after an installation.
const STARTS: usize = 2;

/// What the plain program does.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    starts: Vec<Start>,
    /// The user's check of its work.
    check: Option<String>,
}

impl Baseline {
    pub(super) fn new(starts: Vec<Start>, check: Option<String>) -> Self {
        Self { starts, check }
    }

    /// What is different when the program is started by `command`, as clauses; none if nothing is.
    fn differences(&self, command: &CommandLine, launch: &LaunchOptions) -> Result<Vec<String>, AppError> {
        let mut installed = Vec::new();
        for _ in 0..STARTS {
            installed.push(start(command, launch, self.check.as_deref())?);
        }
        let found = compare(&self.starts, &installed);
        Ok(if found.differs { found.findings } else { Vec::new() })
    }
}

/// Installs the best fixes of a story: replaces the files that they change, and then records the plan or makes the image anew, as the files lie
/// elsewhere now. At last the program is started from where it was installed; if it does not do what it did, the installation is undone.
///
/// `request` has the plan if prefetching is among the fixes; the image and the index of the trial and the files to be replaced are filled in here.
///
/// # Errors
/// If something cannot be installed, or the program behaves differently. Then nothing is installed.
pub fn install_best(
    story: &Story,
    launch: &LaunchOptions,
    mut request: InstallRequest,
    observer: &dyn Observer,
) -> Result<InstallOutcome, AppError> {
    let Some(step) = story.fixes.first() else { return Err(AppError::new("there is no fix to install")) };
    request.changes.clone_from(&step.changes);
    request.image.clone_from(&story.image);
    request.index.clone_from(&story.index);
    if !step.kinds.contains(&FixKind::Prefetch) {
        request.plan = None;
        let has_start = request.image.is_some() || request.index.is_some();
        if !has_start && request.places.iter().chain(&request.also).any(PlaceChoice::needs_plan) {
            observer.note("no plan is installed, as none pays here: the changed files serve every start");
        }
    }
    let mut outcome = install(&request, observer)?;
    let is_kept_up = request.places.iter().chain(&request.also).any(|place| !place.needs_plan());
    if !step.changes.is_empty() && request.directories.scope == Scope::System && !is_kept_up {
        observer.note("after an upgrade the originals are in place until `coldstart installed --refresh`; --after-upgrades does that");
    }
    let only_user = request.directories.scope == Scope::User;
    let undo = |error: AppError| match uninstall(outcome.name.word(), only_user, false) {
        Ok(_) => error.within("nothing was installed".to_owned()),
        Err(left) => {
            let left = left.sentence();
            AppError::hinted(error, format!("it could not be undone ({left}): see `coldstart installed`"))
        }
    };
    let has_index = request.index.is_some();
    let is_recorded = request.plan.is_some() || request.image.is_some() || has_index;
    // The plan of the trial may lie in a directory of modules, and changed files do.
    if is_recorded && !step.changes.is_empty() || has_index && !is_fresh(&outcome) {
        let refreshed = refresh(outcome.name.word(), only_user, observer).map_err(undo)?;
        outcome.notes.extend(refreshed.notes);
    }
    observer.note("comparing the installed program with the plain one");
    let command = outcome.command(&request.program);
    let differences = story.baseline.differences(&command, launch).map_err(undo)?;
    if differences.is_empty() {
        return Ok(outcome);
    }
    Err(undo(AppError::new(format!("the program does not do what it did: {}", differences.join("; ")))))
        .hint(|| "the trial found no difference: measure again, with a --check of what the program must do")
}
