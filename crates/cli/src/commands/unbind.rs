//! `coldstart unbind`: restore programs as they were before binding, byte for byte.

use coldstart_app::restoring::Options;
use coldstart_app::unbind::unbind;

use super::restoring::{self, changed_file};
use super::rewriting::place;
use crate::args::unbind::UnbindArgs;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &UnbindArgs) -> Result<Exit, CliError> {
    let options = Options {
        targets: args.targets.clone(),
        one_file_system: args.many.one_file_system,
        place: place(&args.place),
        changed: changed_file(&args.changed),
    };
    let keep_links = args.keep_farm;
    restoring::run(&options, &args.many, |options, interrupt, console| unbind(options, keep_links, interrupt, console))
}
