//! `coldstart pagecache`: show and change which pages of files are resident.

mod evict;
mod metadata;
mod reasons;
mod restore;
mod save;
mod show;
mod strip;
mod words;

use coldstart_app::pagecache::{FilesOptions, ListOptions, SortKey};

use crate::args::pagecache::{self, FilesArgs, ListArgs, PagecacheAction, PagecacheArgs};
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

/// Default number of listed files.
const TABLE_LIMIT: usize = 40;

fn files_options(args: &FilesArgs) -> FilesOptions {
    FilesOptions { paths: args.paths.clone(), one_file_system: args.one_file_system }
}

fn list_options(args: &ListArgs) -> ListOptions {
    let sort = args.sort.map(|key| match key {
        pagecache::SortKey::Size => SortKey::Size,
        pagecache::SortKey::Resident => SortKey::Resident,
        pagecache::SortKey::Path => SortKey::Path,
    });
    ListOptions { sort, limit: args.limit.unwrap_or(if args.json { 0 } else { TABLE_LIMIT }) }
}
