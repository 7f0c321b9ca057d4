//! `coldstart unbind`: restore what was there before binding, byte for byte, and take its folder of links away.

use coldstart_bind::Binding;
use coldstart_elf::ElfFile;
use coldstart_rewrite::binding_note;

use super::bind::audit::is_ours;
use super::restoring::{Restoring, Taking, restore};
use super::rewriting::Task;
use crate::args::unbind::UnbindArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;

const BINDING: Taking =
    Taking { verb: "unbind", edit: "bind", was: "bound", doing: "binding", schema: "coldstart.unbind/1" };

pub(super) fn run(args: &UnbindArgs) -> Result<Exit, CliError> {
    let restoring = Restoring { targets: &args.targets, place: &args.place, many: &args.many };
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
            Ok(_) => format!("the folder of links `{shown}` was removed"),
            Err(error) => format!("the folder of links `{shown}` stays: {error}"),
        });
    }
    let library = binding.audit_library(&program)?;
    if !is_ours(&library) {
        return None;
    }
    let shown = printable(&library);
    Some(match std::fs::remove_file(&library) {
        Ok(()) => format!("the library that answered the loader, `{shown}`, was removed"),
        Err(error) => format!("the library that answered the loader, `{shown}`, stays: {error}"),
    })
}
