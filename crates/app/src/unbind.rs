//! `unbind`: restore the program as it was before binding, byte for byte, and remove its link directory.

use coldstart_bind::{AuditLibraryRemoved, Binding, Change, FarmRemoved};
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_profile::{escaped, printable};
use coldstart_rewrite::binding_note;

use crate::error::AppError;
use crate::observer::Observer;
use crate::restoring::{Options, Report, Taking, restore};
use crate::rewriting::Task;

const BINDING: Taking =
    Taking { verb: "unbind", edit: "bind", was: "bound", doing: "binding", schema: "coldstart.unbind/1" };

/// Restores bound programs from their notes. In place, it also removes what `bind` created beside a program: the link
/// directory, unless `keep_links` is set, or the audit library.
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
    let afterwards = |task: &Task, file: &ElfFile<'_>| {
        if keep_links { Vec::new() } else { remove_links(task, file).into_iter().collect() }
    };
    restore(BINDING, options, interrupt, observer, &afterwards)
}

/// Removes the link directory and the audit library of a program that is no longer bound.
fn remove_links(task: &Task, file: &ElfFile<'_>) -> Option<String> {
    let binding = Binding::from_json(binding_note(file)?).ok()?;
    let program = task.path.canonicalize().unwrap_or_else(|_| task.path.clone());
    if let Some(farm) = &binding.farm {
        let directory = farm.directory(&program);
        let shown = printable(&directory);
        return Some(match coldstart_bind::remove_farm(&directory, Some(&program)) {
            Ok(FarmRemoved::Removed) => format!("the link directory `{shown}` was removed"),
            Ok(FarmRemoved::WasGone) => format!("the link directory `{shown}` was already gone"),
            Err(error) => format!("the link directory `{shown}` was not removed: {error}"),
        });
    }
    let (library, removed) = coldstart_bind::remove_audit_library(&binding, &program)?;
    let shown = format!("the audit library `{}`", printable(&library));
    Some(match removed {
        AuditLibraryRemoved::Removed => format!("{shown} was removed"),
        AuditLibraryRemoved::WasGone => format!("{shown} was already gone"),
        AuditLibraryRemoved::Kept(Change::AuditLibraryUnrecorded { .. }) => {
            format!("{shown} was not removed: its content is not recorded in the note")
        }
        AuditLibraryRemoved::Kept(Change::AuditLibraryGone { reason, .. }) => {
            format!("{shown} was not removed: it cannot be read ({})", escaped(&reason))
        }
        AuditLibraryRemoved::Kept(_) => format!("{shown} was not removed: it is not the file written by `bind`"),
        AuditLibraryRemoved::Failed(error) => format!("{shown} was not removed: {error}"),
    })
}
