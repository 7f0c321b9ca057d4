//! `coldstart image`: images of files in the order of a start.

mod make;
mod show;
mod verify;

use crate::args::image::{ImageAction, ImageArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &ImageArgs) -> Result<Exit, CliError> {
    match &args.action {
        ImageAction::Make(args) => make::run(args),
        ImageAction::Verify(args) => verify::run(args),
        ImageAction::Show(args) => show::run(args),
    }
}
