//! What may be typed after `coldstart resolve`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
