//! `coldstart speedup`: record a program, apply fixes, prove them, and measure before and after.

mod page;
mod story;

use std::path::Path;

use coldstart_app::kinds;
use coldstart_app::launching::inputs_of;
use coldstart_app::prefetch::default_plan_path;
use coldstart_app::speedup::{Launcher, SCHEMA, SpeedupOptions, labels, speedup};
use coldstart_app::writing::try_out;
use coldstart_output::OutputTarget;

use crate::args::speedup::SpeedupArgs;
use crate::commands::launching::{command_line, launching};
use crate::commands::measure::Progress;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(crate) fn run(args: &SpeedupArgs) -> Result<Exit, CliError> {
    let program = command_line(&args.program);
    let launch = launching(&args.launching).options()?;
    let plan_path = args.output.clone().unwrap_or_else(|| default_plan_path(&program));
    let inputs = inputs_of([&program], args.launching.input.as_deref());
    let place =
        |path: &Path, kind| OutputTarget::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let plan = place(&plan_path, kinds::PLAN)?;
    let page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    try_out([&plan].into_iter().chain(&page_place))?;
    let (strategy, launcher) = (args.planning.strategy.into(), Launcher::installed()?);
    let options = SpeedupOptions { program, launch, plan, strategy, runs: args.runs, launcher };
    let story = speedup(&options, &Terminal, &mut Progress::new(labels()))?;
    if let Some(place) = &page_place {
        page::write(place, &options.program.to_string(), &story)?;
    }
    if args.json {
        json::print(SCHEMA, &story)?;
    } else {
        output::print(&story::in_words(&story))?;
    }
    Ok(if story.succeeded() { Exit::Done } else { Exit::No })
}
