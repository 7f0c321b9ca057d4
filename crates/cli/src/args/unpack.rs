//! Arguments of `coldstart unpack`.

use std::path::PathBuf;

use clap::Args;

use super::rewriting::{ChangedArgs, ManyArgs, PlaceArgs};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UnpackArgs {
    /// Packed files, or directories to walk
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    #[command(flatten)]
    pub(crate) changed: ChangedArgs,

    #[command(flatten)]
    pub(crate) many: ManyArgs,
}

const HELP: &str = "\
Each file is restored byte for byte, from the note that `pack` has left in it, and its digest is compared before it is renamed \
into place. A file that was changed after packing is refused, so that nothing is lost: --keep-payload keeps appended bytes, \
--discard-changes discards the changes.

Exit codes: 0 restored; 1 a file named here was refused; 2 something could not be read or written.

Examples:
  coldstart unpack packed/libfoo.so -o libfoo.so
  coldstart unpack --in-place /opt/app";
