//! What may be typed after `coldstart unbind`.

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

    /// In place: leave the folder of links where it is
    #[arg(long)]
    pub(crate) keep_farm: bool,

    #[command(flatten)]
    pub(crate) changed: ChangedArgs,

    #[command(flatten)]
    pub(crate) many: ManyArgs,
}

const HELP: &str = "\
Each program is restored byte for byte, from the note that `bind` has left in it; its digest is compared before it is put \
in place. A program that was changed after binding is refused, so that nothing is lost: --keep-payload keeps appended \
bytes, --discard-changes gives up what was changed. In place, the program's folder of links goes with it, if nothing but our links is in it.

Exit codes: 0 restored; 1 a file named here was refused; 2 something could not be read or written.

Examples:
  coldstart unbind bound/app -o app
  coldstart unbind --in-place /opt/app/bin";
