//! `coldstart unpack`: restore files as they were before packing, byte for byte.

use coldstart_app::restoring::Options;
use coldstart_app::unpack::unpack;

use super::restoring::{self, changed_file};
use super::rewriting::place;
use crate::args::unpack::UnpackArgs;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &UnpackArgs) -> Result<Exit, CliError> {
    let options = Options {
        targets: args.targets.clone(),
        one_file_system: args.many.one_file_system,
        place: place(&args.place),
        changed: changed_file(&args.changed),
    };
    restoring::run(&options, &args.many, |options, interrupt, console| unpack(options, interrupt, console))
}
