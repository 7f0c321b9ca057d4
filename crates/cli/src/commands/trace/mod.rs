//! `coldstart trace`: record what one start of a program does, and show it.

mod import;
mod record;
mod show;
mod sql;

use crate::args::trace::{TraceAction, TraceArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &TraceArgs) -> Result<Exit, CliError> {
    match &args.action {
        Some(TraceAction::Show(args)) => show::run(args),
        Some(TraceAction::Sql(args)) => sql::run(args),
        Some(TraceAction::Import(args)) => import::run(args),
        None => record::run(&args.record),
    }
}
