//! Arguments of `coldstart unbind`.

use std::path::PathBuf;

use clap::Args;

use super::rewriting::{ChangedArgs, ManyArgs, PlaceArgs};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UnbindArgs {
    /// Bound programs, or directories to walk
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// In place: keep the directory of links
    #[arg(long)]
    pub(crate) keep_farm: bool,

    #[command(flatten)]
    pub(crate) changed: ChangedArgs,

    #[command(flatten)]
    pub(crate) many: ManyArgs,
}

const HELP: &str = "\
Each program is restored byte for byte, from the note that `bind` has left in it; its digest is compared before it is renamed \
into place. A program that was changed after binding is refused, so that nothing is lost: --keep-payload keeps appended \
bytes, --discard-changes discards the changes. In place, the program's directory of links is removed, too, if it contains nothing but our links.

Exit codes: 0 restored; 1 a file named here was refused; 2 something could not be read or written.

Examples:
  coldstart unbind bound/app -o app
  coldstart unbind --in-place /opt/app/bin";
