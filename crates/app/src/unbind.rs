//! `unbind`: restore what was there before binding, byte for byte, and remove the directory of links.

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

/// Restores bound programs from the note in each. In place, what `bind` has put beside a program goes with the binding: the
/// directory of links, unless `keep_links` is set, or the library that answers the loader.
///
/// Once `interrupt` has noted a signal no further file is begun. The observer is told of what cannot be walked; what becomes of
/// a file, errors included, is in the report.
///
/// # Errors
/// When it cannot be said where results go, or one of them would lie over something that must stay. Nothing is written then.
pub fn unbind(
    options: &Options,
    keep_links: bool,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Result<Report, AppError> {
    let afterwards = |task: &Task, file: &ElfFile<'_>| {
        if keep_links { Vec::new() } else { take_away(task, file).into_iter().collect() }
    };
    restore(BINDING, options, interrupt, observer, &afterwards)
}

/// Removes the folder of links of a program that is no longer bound, and the library that audits.
fn take_away(task: &Task, file: &ElfFile<'_>) -> Option<String> {
    let binding = Binding::from_json(binding_note(file)?).ok()?;
    let program = task.path.canonicalize().unwrap_or_else(|_| task.path.clone());
    if let Some(farm) = &binding.farm {
        let directory = farm.directory(&program);
        let shown = printable(&directory);
        return Some(match coldstart_bind::remove_farm(&directory, Some(&program)) {
            Ok(FarmRemoved::Removed) => format!("the folder of links `{shown}` was removed"),
            Ok(FarmRemoved::WasGone) => format!("the folder of links `{shown}` was gone already"),
            Err(error) => format!("the folder of links `{shown}` stays: {error}"),
        });
    }
    let (library, removed) = coldstart_bind::remove_audit_library(&binding, &program)?;
    let shown = format!("the library that answered the loader, `{}`,", printable(&library));
    Some(match removed {
        AuditLibraryRemoved::Removed => format!("{shown} was removed"),
        AuditLibraryRemoved::WasGone => format!("{shown} was gone already"),
        AuditLibraryRemoved::Kept(Change::AuditLibraryUnrecorded { .. }) => {
            format!("{shown} stays: the note does not tell what was written there")
        }
        AuditLibraryRemoved::Kept(Change::AuditLibraryGone { reason, .. }) => {
            format!("{shown} stays: it cannot be read ({})", escaped(&reason))
        }
        AuditLibraryRemoved::Kept(_) => format!("{shown} stays: it is not the file that `bind` wrote"),
        AuditLibraryRemoved::Failed(error) => format!("{shown} stays: {error}"),
    })
}
