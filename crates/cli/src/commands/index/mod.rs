//! `coldstart index`: interpreters find their modules at the first try.

mod check;
mod env;
mod install;
mod make;
mod run;
mod show;

use crate::args::index::{IndexAction, IndexArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) fn run(args: &IndexArgs) -> Result<Exit, CliError> {
    match &args.action {
        IndexAction::Make(args) => make::run(args),
        IndexAction::Install(args) => install::run(args),
        IndexAction::Run(args) => Ok(run::run(args)),
        IndexAction::Env(args) => env::run(args),
        IndexAction::Check(args) => check::run(args),
        IndexAction::Show(args) => show::run(args),
    }
}
