//! `coldstart prefetch install`: an existing plan where people start the program.

use coldstart_app::install::{PlanToInstall, SCHEMA, install};
use coldstart_install::FixInUse;

use crate::args::prefetch::InstallPlanArgs;
use crate::commands::installing::{StartFile, in_words, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &InstallPlanArgs) -> Result<Exit, CliError> {
    let strategy = args.planning.strategy.remembered();
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), strategy, args.exact)?;
    let fixes = vec![FixInUse { fix: "prefetch".to_owned(), before_seconds: None, after_seconds: None }];
    let plan = StartFile::Plan(PlanToInstall::File(args.plan.clone()));
    let request = request(&args.installing, command_line(&args.program), plan, recording, fixes)?;
    let outcome = install(&request, &Terminal)?;
    match args.json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}
