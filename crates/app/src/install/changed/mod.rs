//! Files of a program that an installation replaces: made by `bind`, `pack` and `order`, put in place, made again after upgrades, restored.
//!
//! How a file is replaced, so that its package manager agrees, is in `coldstart_packages`; when, in `coldstart_install`. One file may
//! serve several installations, for example a library of two programs: it is replaced for the first and restored for the last.

mod details;
mod guard;
mod make;
mod refresh;
mod replacer;

use std::path::{Path, PathBuf};

use coldstart_install::{ChangedFile, Directories, Environment, Installation, Stored};
use coldstart_packages::kept_beside;
use coldstart_profile::printable;
use serde::Serialize;

pub(crate) use details::records_of;
pub use guard::Guard;
pub(crate) use refresh::refresh_files;
pub use replacer::FileReplacer;

use crate::error::AppError;
use crate::fix_kind::{FileChange, FixKind};
use details::Details;

/// The directory of links of a bound program, within its installation.
const LINKS: &str = "links";

/// What an installation will record of the files that it replaces.
pub(super) fn planned(
    changes: &[FileChange],
    installation: &Installation,
    directories: &Directories,
) -> Vec<ChangedFile> {
    let changed = |change: &FileChange| {
        let links = change.edits.contains(&FixKind::Bind).then(|| installation.directory().join(LINKS));
        let details = Details {
            records: Stored::from(records_of(directories).as_path()),
            registry: Stored::from(directories.registry.as_path()),
            installation: Stored::from(installation.directory()),
            links: links.as_deref().map(Stored::from),
            order: change.order.iter().map(|name| Stored::from(name.as_path())).collect(),
        };
        let edits: Vec<&str> = change.edits.iter().map(|edit| edit.name()).collect();
        ChangedFile {
            path: Stored::from(change.path.as_path()),
            edit: edits.join("+"),
            kept_original: Stored::from(kept_beside(&change.path).as_path()),
            details: serde_json::to_value(details).ok(),
        }
    };
    changes.iter().map(changed).collect()
}

/// The change that a replaced file was made by.
///
/// # Errors
/// If a later version of coldstart made it.
pub(crate) fn change(file: &ChangedFile) -> Result<FileChange, AppError> {
    let edit = |name: &str| FixKind::ALL.into_iter().find(|kind| kind.changes_files() && kind.name() == name);
    let edits: Option<Vec<FixKind>> = file.edit.split('+').map(edit).collect();
    let path = file.path.path().to_owned();
    let order = Details::of(file).map(|details| details.order).unwrap_or_default();
    match edits {
        Some(edits) => Ok(FileChange { path, edits, order: order.iter().map(|name| name.path().to_owned()).collect() }),
        None => Err(AppError::new(format!("cannot use the edit `{}` of `{}`", file.edit, printable(&path)))),
    }
}

/// Files in whose place the original is now.
#[derive(Clone, Debug, Serialize)]
pub struct FellBack {
    /// The files.
    pub restored: Vec<Stored>,
}

/// Puts the originals in place of replaced files whose packages were upgraded, for all users. Without an upgrade it costs little.
///
/// # Errors
/// If a file cannot be restored.
pub fn fall_back() -> Result<FellBack, AppError> {
    let directories = Directories::system(Path::new("/"), &Environment::default());
    let restored = coldstart_packages::fall_back(Path::new("/"), &records_of(&directories))?;
    Ok(FellBack { restored: restored.iter().map(|file| Stored::from(file.as_path())).collect() })
}

/// Finishes or undoes replacements that were killed, and removes what only they needed.
///
/// # Errors
/// A record that cannot be repaired.
pub(crate) fn repair(directories: &Directories) -> Result<Vec<PathBuf>, coldstart_packages::PackageError> {
    let records = records_of(directories);
    let repaired = coldstart_packages::repair(Path::new("/"), &records)?;
    coldstart_packages::remove_unused_hook(Path::new("/"), &records)?;
    Ok(repaired
        .into_iter()
        .map(|repaired| match repaired {
            coldstart_packages::Repaired::Settled(file) | coldstart_packages::Repaired::Undone(file) => file,
        })
        .collect())
}
