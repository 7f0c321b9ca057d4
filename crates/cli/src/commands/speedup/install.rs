//! `--install` and `--uninstall`: the best fixes where people start the program.

use std::ffi::OsString;
use std::path::Path;

use anyhow::anyhow;
use coldstart_app::install::{InstallOutcome, InstallationReport, PlanToInstall, list, uninstall};
use coldstart_app::speedup::{FixKind, SpeedupOptions, Story, install_best};
use coldstart_install::FixInUse;
use coldstart_launch::CommandLine;

use crate::args::speedup::SpeedupArgs;
use crate::commands::installed::undone;
use crate::commands::installing::{StartFiles, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, json};

/// Refuses options that contradict one another, before anything is started.
pub(super) fn check(args: &SpeedupArgs) -> Result<(), CliError> {
    if args.installing.is_given() && !args.install && !args.uninstall {
        return Err(anyhow!(
            "--place, --at-login, --after-upgrades, --name and --user say where to install, but --install is not given"
        ))
        .hint(|| "add --install, or leave them out");
    }
    if args.install {
        let name = installation_name(args, &command_line(&args.program));
        let listing = list(None, args.installing.user)?;
        let same = |report: &&InstallationReport| report.name.word() == name && !report.replaced_files.is_empty();
        if let Some(report) = listing.installations.iter().find(same) {
            let first = report.replaced_files.first().map(|path| printable(path.path())).unwrap_or_default();
            return Err(anyhow!(
                "`{}` is installed with changed files, such as `{first}`, so that there is no plain start to measure",
                printable(Path::new(&name))
            ))
            .hint(|| {
                "`coldstart installed NAME --refresh` brings it up to date; `--uninstall` undoes it, then measure again"
            });
        }
    }
    Ok(())
}

/// The name of the program's installation.
fn installation_name(args: &SpeedupArgs, program: &CommandLine) -> OsString {
    let of_program = || Path::new(&program.program).file_name().map(OsString::from).unwrap_or_default();
    args.installing.name.clone().unwrap_or_else(of_program)
}

/// The fixes to try: those named, or all.
pub(super) fn fixes(args: &SpeedupArgs) -> Vec<FixKind> {
    match args.fixes.as_slice() {
        [] => FixKind::ALL.to_vec(),
        named => named.iter().map(|&choice| choice.into()).collect(),
    }
}

/// Installs the best of what was measured.
pub(super) fn install(args: &SpeedupArgs, options: &SpeedupOptions, story: &Story) -> Result<InstallOutcome, CliError> {
    let strategy = args.planning.strategy.remembered();
    let exact = story.fixes.iter().any(|fix| fix.fix.contains("used pages"));
    let recording = recording(&waiting(&args.launching.waiting), args.launching.input.as_deref(), strategy, exact)?;
    let in_use = |(number, fix): (usize, &coldstart_app::speedup::Step)| FixInUse {
        fix: fix.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" + "),
        before_seconds: story.median(0, story.cold),
        after_seconds: story.median(number + 1, story.cold),
    };
    let in_use = story.fixes.iter().enumerate().map(in_use).collect();
    let plan = Some(PlanToInstall::File(options.plan.path().to_owned()));
    let files = StartFiles { plan, ..StartFiles::default() };
    let request = request(&args.installing, options.program.clone(), files, recording, in_use)?;
    install_best(story, &options.launch, request, &Terminal)
}

/// Undoes what [`install`] did.
pub(super) fn undo(args: &SpeedupArgs, program: &CommandLine) -> Result<Exit, CliError> {
    let name = installation_name(args, program);
    let outcome = uninstall(&name, args.installing.user, false)?;
    match args.json {
        true => json::print("coldstart.installed-uninstall/1", &outcome)?,
        false => output::print(&undone(&outcome))?,
    }
    Ok(if outcome.complete { Exit::Done } else { Exit::No })
}
