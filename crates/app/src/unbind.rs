//! `unbind`: restore the program as it was before binding, byte for byte, and remove its link directory.
//!
//! Not obvious: the links go after the program is restored, since a bound program needs them. So a run that is killed in between, or
//! cannot remove them, leaves them beside a program that no longer says that it has them. The next run removes them then.

use std::path::{Path, PathBuf};

use coldstart_bind::{AuditLibraryRemoved, Binding, Change, FarmError, FarmRemoved, usual_farm};
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_loader::ObjectFacts;
use coldstart_profile::{escaped, printable};
use coldstart_rewrite::binding_note;

use crate::command;
use crate::error::AppError;
use crate::observer::Observer;
use crate::restoring::{Beside, Options, Related, Report, Taking, restore};
use crate::rewriting::Task;

const BINDING: Taking =
    Taking { verb: "unbind", edit: "bind", was: "bound", doing: "binding", schema: "coldstart.unbind/1" };

/// Restores bound programs from their notes. In place, it also removes what `bind` created beside a program: the link
/// directory, unless `keep_links` is set, or the audit library. It does so, too, for a program that is no longer bound.
///
/// After a signal to `interrupt` no further file is started. Errors of the walk go to the observer; the result of each file,
/// errors included, is in the report.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn unbind(
    options: &Options,
    keep_links: bool,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Result<Report, AppError> {
    let beside = if keep_links { Beside::NOTHING } else { Beside { afterwards: &remove_links, left: &remove_left } };
    restore(BINDING, options, interrupt, observer, beside)
}

/// Removes the link directory and the audit library of a program that is no longer bound.
fn remove_links(task: &Task, file: &ElfFile<'_>) -> Related {
    let mut related = Related::default();
    let Some(binding) = binding_note(file).and_then(|note| Binding::from_json(note).ok()) else { return related };
    let program = real_path(task);
    if let Some(farm) = &binding.farm {
        let directory = farm.directory(&program);
        match coldstart_bind::remove_farm(&directory, Some(&program)) {
            Ok(FarmRemoved::Removed) => related.notes.push(farm_was_removed(&directory)),
            Ok(FarmRemoved::WasGone) => {
                related.notes.push(format!("the link directory `{}` was already gone", printable(&directory)));
            }
            Err(error) => farm_stays(task, &directory, error, &mut related),
        }
    } else if let Some((library, removed)) = coldstart_bind::remove_audit_library(&binding, &program) {
        let shown = format!("the audit library `{}`", printable(&library));
        match removed {
            AuditLibraryRemoved::Removed => related.notes.push(format!("{shown} was removed")),
            AuditLibraryRemoved::WasGone => related.notes.push(format!("{shown} was already gone")),
            AuditLibraryRemoved::Kept(change) => {
                related.kept.push(format!("{shown} was not removed: {}", why_kept(&change)));
            }
            AuditLibraryRemoved::Failed(error) => related.failed.push(library_stays(&library, error)),
        }
    }
    related
}

/// Removes what an earlier run left beside a program that is not bound.
fn remove_left(task: &Task, file: &ElfFile<'_>) -> Related {
    let mut related = Related::default();
    let (None, Ok(facts)) = (binding_note(file), ObjectFacts::of(file)) else { return related };
    let search: Vec<&[u8]> = [&facts.runpath, &facts.rpath].into_iter().flatten().map(Vec::as_slice).collect();
    let program = real_path(task);
    let directory = usual_farm(&program);
    // For programs found in a directory, the directory's entries are not listed for each.
    if task.is_named || directory.symlink_metadata().is_ok() {
        match coldstart_bind::remove_left_farm(&program, &search) {
            Ok(FarmRemoved::Removed) => related.notes.push(farm_was_removed(&directory)),
            Ok(FarmRemoved::WasGone) => {}
            Err(error) => farm_stays(task, &directory, error, &mut related),
        }
    }
    related
}

fn real_path(task: &Task) -> PathBuf {
    task.path.canonicalize().unwrap_or_else(|_| task.path.clone())
}

fn farm_was_removed(directory: &Path) -> String {
    format!("the link directory `{}` was removed", printable(directory))
}

/// A directory that is not only ours is kept. Everything else is an error.
fn farm_stays(task: &Task, directory: &Path, error: FarmError, related: &mut Related) {
    let shown = printable(directory);
    if matches!(error, FarmError::NotOurs(_) | FarmError::OtherProgram { .. } | FarmError::Foreign(_)) {
        related.kept.push(format!("the link directory `{shown}` was not removed: {error}"));
        return;
    }
    // Its own hints are for `bind`.
    let error = anyhow::anyhow!("{error}");
    let error =
        AppError::from(error.context(format!("cannot remove the link directory `{shown}`, which is no longer used")));
    let next = match directory == usual_farm(&real_path(task)) {
        true => again(task),
        false => format!("remove it with `{}`", command::in_prose(&["rm", "-r"], directory)),
    };
    related.failed.push(AppError::hinted(error, next));
}

fn library_stays(library: &Path, error: std::io::Error) -> AppError {
    let doing = format!("cannot remove the audit library `{}`, which is no longer used", printable(library));
    let next = format!("remove it with `{}`", command::in_prose(&["rm"], library));
    AppError::hinted(anyhow::Error::new(error).context(doing), next)
}

fn again(task: &Task) -> String {
    let command = command::of_ours_in_prose("unbind --in-place", &task.path);
    format!("the program is restored; when the cause is mended, `{command}` removes what is left")
}

fn why_kept(change: &Change) -> String {
    match change {
        Change::AuditLibraryUnrecorded { .. } => "its content is not recorded in the note".to_owned(),
        Change::AuditLibraryGone { reason, .. } => format!("it cannot be read ({})", escaped(reason)),
        _ => "it is not the file written by `bind`".to_owned(),
    }
}
