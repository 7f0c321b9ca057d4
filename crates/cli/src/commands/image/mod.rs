//! `coldstart image`: images of files in the order of a start.

mod install;
mod make;
mod mount;
mod run;
mod show;
mod verify;

use crate::args::image::{ImageAction, ImageArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &ImageArgs) -> Result<Exit, CliError> {
    match &args.action {
        ImageAction::Make(args) => make::run(args),
        ImageAction::Run(args) => Ok(run::run(args)),
        ImageAction::Install(args) => install::run(args),
        ImageAction::Mount(args) => mount::mounted(args),
        ImageAction::Umount(args) => mount::unmounted(args),
        ImageAction::Verify(args) => verify::run(args),
        ImageAction::Show(args) => show::run(args),
    }
}
