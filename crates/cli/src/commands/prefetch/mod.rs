//! `coldstart prefetch`: record what a cold start reads, replay it before the next one.

mod install;
mod merge;
mod record;
mod run;
mod show;

use crate::args::prefetch::{PrefetchAction, PrefetchArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use run::run as run_launcher;

pub(crate) fn run(args: &PrefetchArgs) -> Result<Exit, CliError> {
    match &args.action {
        PrefetchAction::Install(args) => install::run(args),
        PrefetchAction::Record(args) => record::run(args),
        PrefetchAction::Merge(args) => merge::run(args),
        PrefetchAction::Run(args) => run::run(args),
        PrefetchAction::Show(args) => show::run(args),
    }
}
