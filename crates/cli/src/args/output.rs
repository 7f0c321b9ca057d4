//! What every verb that writes a file has in common.

use clap::Args;

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ForceArgs {
    /// Write over FILE even if it is not an earlier output
    #[arg(long)]
    pub(crate) force: bool,
}
