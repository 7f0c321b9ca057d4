//! `coldstart ldcache`: read, write and check loader caches and resolution notes.

mod check;
mod note;
mod show;
mod write;

use coldstart_app::ldcache::is_elf;

use crate::args::ldcache::{LdcacheAction, LdcacheArgs};
use crate::error::CliError;
use crate::exit::Exit;

/// Columns of a name; longer ones lose their middle.
const NAME_COLUMNS: usize = 40;

pub(super) fn run(args: &LdcacheArgs) -> Result<Exit, CliError> {
    match &args.action {
        LdcacheAction::Write(args) if !args.note.is_empty() => note::write(args),
        LdcacheAction::Write(args) => write::run(args),
        LdcacheAction::Show(args) if is_elf(&args.file) => note::show(args),
        LdcacheAction::Show(args) => show::run(args),
        LdcacheAction::Check(args) => check::run(args),
    }
}

/// The prefix of a partly shown table: "3 of ".
fn shown_of(shown: usize, all: usize) -> String {
    if shown == all { String::new() } else { format!("{shown} of ") }
}
