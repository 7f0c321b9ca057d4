//! `installed --uninstall`, `--repair`.

use std::ffi::OsStr;

use coldstart_install::{Registry, Repaired, Stored, Undone};
use rustix::fs::{Access, access};
use serde::Serialize;

use super::changed::{self, FileReplacer};
use super::image::{is_unmounted, mount_if_due};
use super::registries::{every_scope, locate};
use crate::error::AppError;

/// What became of the files of an installation that was undone.
#[derive(Clone, Debug, Serialize)]
pub struct UndoOutcome {
    /// The installation.
    pub name: Stored,
    /// Whether it is gone.
    pub complete: bool,
    /// Files that were restored or removed.
    pub restored: Vec<Stored>,
    /// Files that were edited since and still start the program through the installation. They stay, and so does it.
    pub edited: Vec<Stored>,
    /// Files that others have put in place of ours. They stay.
    pub foreign: Vec<Stored>,
    /// What the user has to do now, as commands.
    pub afterwards: Vec<String>,
}

impl UndoOutcome {
    fn new(name: &OsStr, undone: Undone) -> Self {
        let stored = |paths: &[std::path::PathBuf]| paths.iter().map(|path| Stored::from(path.as_path())).collect();
        Self {
            name: Stored::new(name),
            complete: undone.is_complete(),
            restored: stored(&undone.restored),
            edited: stored(&undone.edited),
            foreign: stored(&undone.foreign),
            afterwards: undone.afterwards,
        }
    }
}

/// Undoes an installation: what stood at each place is restored, byte for byte. It needs neither the program nor its package.
///
/// # Errors
/// If nothing of this name is installed, or something cannot be restored.
pub fn uninstall(name: &OsStr, only_user: bool, force: bool) -> Result<UndoOutcome, AppError> {
    let located = locate(name, only_user)?;
    let undone = coldstart_install::uninstall(&located.registry, name, &FileReplacer, force)?;
    Ok(UndoOutcome::new(name, undone))
}

/// What a repair found and did.
#[derive(Clone, Debug, Serialize)]
pub struct RepairOutcome {
    /// The installation.
    pub name: Stored,
    /// "whole", "mounted", "rolled-back", "completed" or "empty".
    pub repaired: &'static str,
    /// What was restored.
    pub undone: Option<UndoOutcome>,
    /// Why it could not be repaired.
    pub error: Option<String>,
}

/// The outcome of a repair.
#[derive(Clone, Debug, Serialize)]
pub struct Repairs {
    /// Installations that were not whole, or the named one.
    pub repairs: Vec<RepairOutcome>,
    /// Replaced files whose replacement was interrupted: each is now as recorded, or the original.
    pub files: Vec<Stored>,
}

/// Undoes interrupted installations, completes interrupted removals, and mounts images that are not mounted: of this name, or all that this user may change. Replaced files
/// come first.
///
/// # Errors
/// If the directories cannot be read, or nothing of this name is installed. A failed repair is in its outcome.
pub fn repair(name: Option<&OsStr>, only_user: bool) -> Result<Repairs, AppError> {
    let mut names = Vec::new();
    let mut files = Vec::new();
    match name {
        Some(name) => {
            let located = locate(name, only_user)?;
            files = changed::repair(&located.directories)?;
            names.push((located.registry, name.to_owned()));
        }
        None => {
            for directories in every_scope(only_user)? {
                let registry = Registry::new(&directories.registry);
                if access(&directories.registry, Access::WRITE_OK).is_ok() {
                    files.extend(changed::repair(&directories)?);
                }
                // Nothing to repair, and often not permitted.
                let found = registry.list()?.into_iter().filter(|found| !is_whole(found));
                names.extend(found.map(|found| (registry.clone(), found.name)));
            }
        }
    }
    let outcome = |(registry, name): (Registry, std::ffi::OsString)| {
        let (repaired, undone, error) = match coldstart_install::repair(&registry, &name, &FileReplacer) {
            Ok(Repaired::Whole) => match mount_again(&registry, &name) {
                Ok(false) => ("whole", None, None),
                Ok(true) => ("mounted", None, None),
                Err(error) => ("failed", None, Some(error.sentence())),
            },
            Ok(Repaired::Empty) => ("empty", None, None),
            Ok(Repaired::RolledBack(undone)) => ("rolled-back", Some(undone), None),
            Ok(Repaired::Completed(undone)) => ("completed", Some(undone), None),
            Err(error) => ("failed", None, Some(AppError::from(error).sentence())),
        };
        let undone = undone.map(|undone| UndoOutcome::new(&name, undone));
        RepairOutcome { name: Stored::new(name), repaired, undone, error }
    };
    let files = files.iter().map(|file| Stored::from(file.as_path())).collect();
    Ok(Repairs { repairs: names.into_iter().map(outcome).collect(), files })
}

fn is_whole(found: &coldstart_install::Found) -> bool {
    let manifest = found.manifest.as_ref().and_then(|manifest| manifest.as_ref().ok());
    manifest.is_some_and(|manifest| {
        manifest.state == coldstart_install::InstallationState::Installed && !is_unmounted(manifest)
    })
}

fn mount_again(registry: &Registry, name: &OsStr) -> Result<bool, AppError> {
    match registry.read(name)? {
        Some(manifest) => mount_if_due(&manifest, &registry.installation(name)?),
        None => Ok(false),
    }
}
