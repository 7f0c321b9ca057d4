//! `coldstart prefetch install`: an existing plan where people start the program.

use coldstart_app::install::PlanToInstall;

use crate::args::prefetch::InstallPlanArgs;
use crate::commands::installing::{self, StartFiles, opened, recording};
use crate::commands::launching::waiting;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &InstallPlanArgs) -> Result<Exit, CliError> {
    let strategy = args.planning.strategy.remembered();
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), strategy, args.exact)?;
    let files = StartFiles {
        plan: Some(PlanToInstall::File(args.plan.clone())),
        index: opened(args.index.as_deref())?,
        ..StartFiles::default()
    };
    installing::run(&args.installing, &args.program, files, recording, args.json)
}
