//! `coldstart unpack`: restore what was there before packing, byte for byte.

use super::restoring::{Restoring, Taking, restore};
use crate::args::unpack::UnpackArgs;
use crate::error::CliError;
use crate::exit::Exit;

const PACKING: Taking =
    Taking { verb: "unpack", edit: "relr", was: "packed", doing: "packing", schema: "coldstart.unpack/1" };

pub(super) fn run(args: &UnpackArgs) -> Result<Exit, CliError> {
    let restoring = Restoring { targets: &args.targets, place: &args.place, changed: &args.changed, many: &args.many };
    restore(PACKING, &restoring, &|_, _| Vec::new())
}
