//! `--install` and `--uninstall`: the plan where people start the program.

use std::ffi::OsString;
use std::path::Path;

use anyhow::anyhow;
use coldstart_app::install::{InstallOutcome, PlanToInstall, uninstall};
use coldstart_app::speedup::{FixKind, SpeedupOptions, Story};
use coldstart_install::{FixInUse, NoReplacer};
use coldstart_launch::CommandLine;

use crate::args::speedup::SpeedupArgs;
use crate::commands::installed::undone;
use crate::commands::installing::{install_plan, recording};
use crate::commands::launching::waiting;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::{self, json};

/// Refuses options that contradict one another, before anything is started.
pub(super) fn check(args: &SpeedupArgs) -> Result<(), CliError> {
    if args.installing.is_given() && !args.install && !args.uninstall {
        return Err(anyhow!(
            "--place, --at-login, --after-upgrades, --name and --user say where to install, but --install is not given"
        ))
        .hint(|| "add --install, or leave them out");
    }
    if args.install
        && let Some(fix) = fixes(args).into_iter().find(|fix| fix.changes_files())
    {
        return Err(anyhow!("--install does not install `{}`, which changes files", fix.name())).hint(|| {
            format!("measure it with --fixes {0}, and make the change with `coldstart {0} --in-place`", fix.name())
        });
    }
    Ok(())
}

/// The fixes to try: those named, or all that fit the other options.
pub(super) fn fixes(args: &SpeedupArgs) -> Vec<FixKind> {
    match args.fixes.as_slice() {
        [] if args.install => FixKind::ALL.into_iter().filter(|fix| !fix.changes_files()).collect(),
        [] => FixKind::ALL.to_vec(),
        named => named.iter().map(|&choice| choice.into()).collect(),
    }
}

/// Installs the plan that was measured.
pub(super) fn install(args: &SpeedupArgs, options: &SpeedupOptions, story: &Story) -> Result<InstallOutcome, CliError> {
    let strategy = args.planning.strategy.remembered();
    let exact = story.fixes.iter().any(|fix| fix.fix.contains("used pages"));
    let recording = recording(&waiting(&args.launching.waiting), args.launching.input.as_deref(), strategy, exact)?;
    let in_use = |(number, fix): (usize, &coldstart_app::speedup::Step)| FixInUse {
        fix: fix.kinds.first().map_or("prefetch", |kind| kind.name()).to_owned(),
        before_seconds: story.median(0, story.cold),
        after_seconds: story.median(number + 1, story.cold),
    };
    let in_use = story.fixes.iter().enumerate().map(in_use).collect();
    let plan = PlanToInstall::File(options.plan.path().to_owned());
    install_plan(&args.installing, options.program.clone(), plan, recording, in_use)
}

/// Undoes what [`install`] did.
pub(super) fn undo(args: &SpeedupArgs, program: &CommandLine) -> Result<Exit, CliError> {
    let of_program = || Path::new(&program.program).file_name().map(OsString::from).unwrap_or_default();
    let name = args.installing.name.clone().unwrap_or_else(of_program);
    let outcome = uninstall(&name, args.installing.user, false, &NoReplacer)?;
    match args.json {
        true => json::print("coldstart.installed-uninstall/1", &outcome)?,
        false => output::print(&undone(&outcome))?,
    }
    Ok(if outcome.complete { Exit::Done } else { Exit::No })
}
