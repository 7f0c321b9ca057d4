//! What may be typed after `coldstart status`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
