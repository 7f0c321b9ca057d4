//! `coldstart prefetch`: record what a cold start reads, replay it before the next one.

mod exact;
mod record;
mod run;
mod show;

use crate::args::prefetch::{PrefetchAction, PrefetchArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use record::{PlanRecorder, RecordedPlan, default_plan_path, write_plan};
pub(crate) use run::{plain_form as launcher_form, run as run_launcher};
pub(crate) use show::{read_plan, view_plan};

pub(crate) fn run(args: &PrefetchArgs) -> Result<Exit, CliError> {
    match &args.action {
        PrefetchAction::Record(args) => record::run(args),
        PrefetchAction::Run(args) => run::run(args),
        PrefetchAction::Show(args) => show::run(args),
    }
}
