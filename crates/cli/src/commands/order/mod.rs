//! `coldstart order`: archives and lists of files in the order of a start.

mod files;
mod zip;

use crate::args::order::{OrderAction, OrderArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &OrderArgs) -> Result<Exit, CliError> {
    match &args.action {
        OrderAction::Files(args) => files::run(args),
        OrderAction::Zip(args) => zip::run(args),
    }
}
