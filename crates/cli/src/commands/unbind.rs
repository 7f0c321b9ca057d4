//! `coldstart unbind`: restore what was there before binding, byte for byte, and take its folder of links away.

use coldstart_bind::{AuditLibraryRemoved, Binding, Change, FarmRemoved};
use coldstart_elf::ElfFile;
use coldstart_rewrite::binding_note;

use super::restoring::{Restoring, Taking, restore};
use super::rewriting::Task;
use crate::args::unbind::UnbindArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::escaped;

const BINDING: Taking =
    Taking { verb: "unbind", edit: "bind", was: "bound", doing: "binding", schema: "coldstart.unbind/1" };

pub(super) fn run(args: &UnbindArgs) -> Result<Exit, CliError> {
    let restoring = Restoring { targets: &args.targets, place: &args.place, changed: &args.changed, many: &args.many };
    let afterwards = |task: &Task, file: &ElfFile<'_>| {
        if args.keep_farm { Vec::new() } else { take_away(task, file).into_iter().collect() }
    };
    restore(BINDING, &restoring, &afterwards)
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
