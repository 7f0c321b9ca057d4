//! Arguments shared by `pack` and `unpack`: the output, the walk of a directory, and the report.

use std::path::PathBuf;

use clap::Args;

use super::output::ForceArgs;

#[derive(Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// The new file, or a directory to write below; for several files it is created if missing
    #[arg(long, short, value_name = "OUT", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Replace each file by its result
    #[arg(long)]
    pub(crate) in_place: bool,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ChangedArgs {
    /// If bytes were appended to the file after it was rewritten, keep them after the restored file
    #[arg(long)]
    pub(crate) keep_payload: bool,

    /// Restore the original of a file that was changed after it was rewritten, and lose the changes
    #[arg(long, conflicts_with = "keep_payload")]
    pub(crate) discard_changes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManyArgs {
    /// Do not walk into other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,

    /// List all files instead of the first
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
