//! `coldstart pagecache`: see and change what of files is in memory.

mod evict;
mod list;
mod metadata;
mod passage;
mod reasons;
mod restore;
mod save;
mod show;
mod strip;

use crate::args::pagecache::{PagecacheAction, PagecacheArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &PagecacheArgs) -> Result<Exit, CliError> {
    match &args.action {
        PagecacheAction::Show(args) => show::run(args),
        PagecacheAction::Evict(args) => evict::run(args),
        PagecacheAction::Save(args) => save::run(args),
        PagecacheAction::Restore(args) => restore::run(args),
    }
}
