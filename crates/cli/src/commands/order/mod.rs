//! `coldstart order`: what a start needs comes first, and together.

mod appimage;
mod check;
mod files;
mod functions;
mod zip;

use crate::args::order::{OrderAction, OrderArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &OrderArgs) -> Result<Exit, CliError> {
    match &args.action {
        OrderAction::Appimage(args) => appimage::run(args),
        OrderAction::Check(args) => check::run(args),
        OrderAction::Functions(args) => functions::run(args),
        OrderAction::Files(args) => files::run(args),
        OrderAction::Zip(args) => zip::run(args),
    }
}
