//! `coldstart prefetch install`: an existing plan where people start the program.

use coldstart_app::install::{PlanToInstall, SCHEMA, install};

use crate::args::prefetch::InstallPlanArgs;
use crate::commands::installing::{StartFiles, in_words, opened, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &InstallPlanArgs) -> Result<Exit, CliError> {
    let strategy = args.planning.strategy.remembered();
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), strategy, args.exact)?;
    let files = StartFiles {
        plan: Some(PlanToInstall::File(args.plan.clone())),
        index: opened(args.index.as_deref())?,
        ..StartFiles::default()
    };
    let fixes = files.fixes();
    let request = request(&args.installing, command_line(&args.program), files, recording, fixes)?;
    let outcome = install(&request, &Terminal)?;
    match args.json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}
