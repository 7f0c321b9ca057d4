//! Arguments of every verb that writes a file.

use clap::Args;

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ForceArgs {
    /// Overwrite FILE even if it is not an earlier output
    #[arg(long)]
    pub(crate) force: bool,
}
