//! Replacing and restoring the files of an installation, one by one.

use std::path::{Path, PathBuf};

use coldstart_bind::Change;
use coldstart_install::{ChangedFile, InstallError, InstallationState, Registry, ReplacedState, Replacer};
use coldstart_packages::{Condition, PackageError, Replacement, remove_unused_hook, write_hook};
use coldstart_profile::printable;

use super::details::{Details, real};
use super::make::make;
use crate::error::AppError;
use crate::image::unmount_uuid;
use crate::install::program::open_to_others;

/// What dpkg runs after each of its runs, behind the path of coldstart.
const AFTER_DPKG: &str = "installed --fall-back";

/// Replaces files by what their edits make of them, and restores them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileReplacer;

impl Replacer for FileReplacer {
    fn replace(&self, file: &ChangedFile) -> Result<(), InstallError> {
        put_in_place(file).map_err(|error| failed("replace", file, &error))
    }

    fn restore(&self, file: &ChangedFile) -> Result<(), InstallError> {
        restore(file).map_err(|error| failed("restore", file, &error))
    }

    fn state(&self, file: &ChangedFile) -> ReplacedState {
        state(file).unwrap_or_else(|error| ReplacedState::Changed(error.sentence()))
    }

    fn unmount(&self, uuid: &str) -> Result<(), InstallError> {
        unmount_uuid(uuid).map_err(|error| InstallError::Replacer {
            doing: "unmount",
            path: Path::new(coldstart_image::start::MOUNTS).join(uuid),
            reason: error.to_string(),
        })
    }
}

fn failed(doing: &'static str, file: &ChangedFile, error: &AppError) -> InstallError {
    let reason = match error.hints().first() {
        Some(hint) => format!("{} ({hint})", error.sentence()),
        None => error.sentence(),
    };
    InstallError::Replacer { doing, path: file.path.path().to_owned(), reason }
}

fn put_in_place(file: &ChangedFile) -> Result<(), AppError> {
    let details = Details::of(file)?;
    let path = file.path.path();
    if let Some(replacement) = details.replacement(path)? {
        match replacement.condition()? {
            // Its links are those of the other installation, and go away with it.
            Condition::Fresh if details.links.is_some() => {
                return Err(AppError::new("it is already bound for another installation"));
            }
            // For another installation.
            Condition::Fresh => return Ok(()),
            Condition::Interrupted => replacement.undo(&mut |_| {})?,
            _ => return refresh(file, &details, replacement),
        }
    }
    let made = make(path, path, &file.edit, &details)?;
    let mut replacement = Replacement::plan(Path::new("/"), details.records.path(), path, &made.file)?;
    if replacement.is_diverted() {
        let ourselves = ourselves()?;
        write_hook(Path::new("/"), &ourselves, AFTER_DPKG)?;
    }
    replacement.apply(&made.file, &mut |_| {})?;
    Ok(())
}

/// The executable of this process, which dpkg will run as root.
///
/// # Errors
/// If others than root can change it.
pub(super) fn ourselves() -> Result<PathBuf, AppError> {
    let ourselves = crate::speedup::ourselves()?;
    match open_to_others(&ourselves) {
        Some(open) => Err(AppError::hinted(
            AppError::new(format!(
                "dpkg would run `{}` as root after upgrades, and others than root can change `{}`",
                printable(&ourselves),
                printable(open)
            )),
            "install coldstart where only root may write, for example in /usr/local/bin",
        )),
        None => Ok(ourselves),
    }
}

/// Makes the file again from the original as it is now.
pub(super) fn refresh(file: &ChangedFile, details: &Details, mut replacement: Replacement) -> Result<(), AppError> {
    let made = make(&replacement.kept(), file.path.path(), &file.edit, details)?;
    replacement.refresh(&made.file, &mut |_| {})?;
    Ok(())
}

fn restore(file: &ChangedFile) -> Result<(), AppError> {
    let details = Details::of(file)?;
    if !is_shared(file, &details)?
        && let Some(replacement) = details.replacement(file.path.path())?
    {
        replacement.undo(&mut |_| {})?;
    }
    remove_unused_hook(Path::new("/"), details.records.path())?;
    if let Some(links) = &details.links
        && links.path().is_dir()
    {
        coldstart_bind::remove_farm(links.path(), None)?;
    }
    Ok(())
}

/// Whether another installation has the file replaced, too.
fn is_shared(file: &ChangedFile, details: &Details) -> Result<bool, InstallError> {
    let registry = Registry::new(details.registry.path());
    let wanted = real(file.path.path());
    for found in registry.list()? {
        let Some(Ok(manifest)) = &found.manifest else { continue };
        let is_another = registry.installation(&found.name)?.directory() != details.installation.path();
        let uses = manifest.body.changed_files.iter().any(|other| real(other.path.path()) == wanted);
        if is_another && uses && manifest.state == InstallationState::Installed {
            return Ok(true);
        }
    }
    Ok(false)
}

fn state(file: &ChangedFile) -> Result<ReplacedState, AppError> {
    let details = Details::of(file)?;
    let path = file.path.path();
    let Some(replacement) = details.replacement(path)? else { return Ok(ReplacedState::Original) };
    let changed = |why: &str| Ok(ReplacedState::Changed(why.to_owned()));
    match replacement.condition()? {
        Condition::Fresh => Ok(match changed_search(file, &details) {
            Some(why) => ReplacedState::Changed(why),
            None => ReplacedState::Replaced,
        }),
        Condition::OriginalChanged(Some(why)) => changed(&why),
        Condition::OriginalChanged(None) => changed("its original has changed"),
        Condition::FellBack(Some(why)) => changed(&format!("{why}, and the original is in place")),
        Condition::FellBack(None) => changed("its original has changed, and is in place"),
        Condition::PackageGone => changed("its package was removed"),
        Condition::Overwritten => changed("it was overwritten"),
        Condition::Interrupted => changed("its replacement was interrupted"),
    }
}

/// What has changed for a bound program that its links do not follow by themselves.
fn changed_search(file: &ChangedFile, details: &Details) -> Option<String> {
    details.links.as_ref()?;
    let changes = match crate::status::of_file(file.path.path()) {
        Ok(status) => status.changes,
        Err(error) => return Some(error.sentence()),
    };
    // A library that was replaced under its own name is found by the same link.
    let matters = changes.iter().filter(|change| !matches!(change, Change::Replaced { .. })).count();
    (matters > 0).then(|| "the libraries that it was bound to have changed".to_owned())
}

/// The error of a file that cannot be replaced, as a clause.
pub(super) fn clause(error: &PackageError) -> String {
    match error {
        PackageError::Manager { manager, owner, .. } => {
            format!("it belongs to {owner}, and {manager} cannot be told that a file was replaced")
        }
        PackageError::Diverted { to, .. } => format!("it is already diverted to `{}`", printable(to)),
        PackageError::NameTaken(_) => "it is already replaced".to_owned(),
        error => error.to_string(),
    }
}
