//! `coldstart speedup`: record a program, apply fixes, prove them, and measure before and after.

mod advice;
mod install;
mod page;
mod story;

use std::path::{Path, PathBuf};

use coldstart_app::hanging::HangWatch;
use coldstart_app::install::{InstallOutcome, places_for};
use coldstart_app::kinds;
use coldstart_app::launching::inputs_of;
use coldstart_app::prefetch::default_plan_path;
use coldstart_app::speedup::{Launcher, SCHEMA, SpeedupOptions, Story, TracePlaces, speedup};
use coldstart_app::writing::try_out;
use coldstart_launch::Interrupt;
use coldstart_output::OutputTarget;
use serde::Serialize;

use crate::args::speedup::SpeedupArgs;
use crate::commands::installing::in_words;
use crate::commands::launching::{command_line, launching};
use crate::commands::measure::Progress;
use crate::commands::observer::Terminal;
use crate::error::{self, CliError};
use crate::exit::Exit;
use crate::output::{self, json};

pub(crate) fn run(args: &SpeedupArgs) -> Result<Exit, CliError> {
    install::check(args)?;
    let program = command_line(&args.program);
    if args.uninstall {
        return install::undo(args, &program);
    }
    let launch = launching(&args.launching).options()?;
    let plan_path = args.output.clone().unwrap_or_else(|| default_plan_path(&program));
    let inputs = inputs_of([&program], args.launching.input.as_deref());
    let place =
        |path: &Path, kind| OutputTarget::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let plan = place(&plan_path, kinds::PLAN)?;
    let page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    let traces = match &args.html {
        Some(page) => Some(TracePlaces {
            before: place(&beside(page, "before.coldtrace"), kinds::TRACE)?,
            after: place(&beside(page, "after.coldtrace"), kinds::TRACE)?,
            page: place(&beside(page, "starts.html"), kinds::PAGE)?,
        }),
        None => None,
    };
    let of_traces = traces.iter().flat_map(|places| [&places.before, &places.after, &places.page]);
    try_out([&plan].into_iter().chain(&page_place).chain(of_traces))?;
    let options = SpeedupOptions {
        program,
        launch,
        plan,
        strategy: args.planning.strategy.into(),
        fixes: install::fixes(args),
        together: args.together,
        runs: args.runs,
        budget: args.budget,
        check: args.check.clone(),
        traces,
        launcher: Launcher::installed()?,
        install_for: args.install.then(|| places_for(args.installing.user)).transpose()?,
    };
    let watch = watch_for_hanging(options.launch.interrupt.clone(), args.json);
    let story = speedup(&options, &Terminal, &mut Progress::default())?;
    // An output that fails now, for example without room, must not take the report with it.
    let paged = page_place.as_ref().map_or(Ok(()), |place| page::write(place, &options.program.to_string(), &story));
    // What is being installed is better finished late than ended half-way.
    drop(watch);
    let is_worth_it = story.succeeded() || args.anyway && story.fixes.iter().any(|fix| fix.proven);
    if !args.json {
        output::print(&story::in_words(&story, args.install && is_worth_it))?;
    }
    let installed = match args.install && is_worth_it {
        true => Some(install::install(args, &options, &story)?),
        false => None,
    };
    match &installed {
        _ if args.json => json::print(SCHEMA, &WithInstallation { story: &story, installed: installed.as_ref() })?,
        Some(installed) => output::print(&in_words(installed))?,
        None => {}
    }
    paged?;
    Ok(if story.succeeded() || installed.is_some() { Exit::Done } else { Exit::No })
}

/// A call that hangs can only be left with the process. A guardian then ends the program, and the next run removes the copies.
fn watch_for_hanging(interrupt: Option<Interrupt>, is_json: bool) -> HangWatch {
    let signalled = interrupt.clone();
    HangWatch::start(interrupt, move |error| {
        let broken = error::report(&error);
        if is_json {
            json::print_errors();
        }
        let is_signalled = signalled.is_some_and(|interrupt| interrupt.signal().is_some());
        let exit = if is_signalled { Exit::Interrupted } else { broken };
        std::process::exit(i32::from(exit.code()));
    })
}

/// The story, and what was installed with `--install`.
#[derive(Serialize)]
struct WithInstallation<'a> {
    #[serde(flatten)]
    story: &'a Story,
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<&'a InstallOutcome>,
}

/// A file beside the page: `story.html` and `starts.html` give `story.starts.html`.
fn beside(page: &Path, ending: &str) -> PathBuf {
    page.with_extension(ending)
}
