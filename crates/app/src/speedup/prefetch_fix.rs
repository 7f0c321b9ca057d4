//! The fix "prefetch": a plan, and a launcher that replays it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::{CommandLine, End, LaunchOptions, Output, launch};
use coldstart_output::{OutputTarget, StagedFile};
use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::plan::PlanView;
use coldstart_profile::printable;
use coldstart_view::numbers::counted;

use super::Launcher;
use super::fix::{Fix, Proof};
use super::sameness::{Sameness, Start, compare};
use crate::error::AppError;
use crate::prefetch::{RecordedPlan, read_plan, write_plan};

/// The fix's name.
pub(super) const NAME: &str = "prefetch";

/// Number of compared starts with the plan; without it, there is one more.
const STARTS: usize = 3;
/// Number of further starts without the plan if there is a difference.
const MORE_STARTS: usize = 8;

/// A recorded plan as a fix.
pub(super) struct PrefetchFix<'args> {
    program: &'args CommandLine,
    options: &'args LaunchOptions,
    place: &'args OutputTarget,
    plan_path: PathBuf,
    recorded: &'args RecordedPlan,
    launcher: &'args Launcher,
    copy: LauncherCopy,
}

impl<'args> PrefetchFix<'args> {
    pub(super) fn new(
        program: &'args CommandLine,
        options: &'args LaunchOptions,
        place: &'args OutputTarget,
        recorded: &'args RecordedPlan,
        launcher: &'args Launcher,
    ) -> Result<Self, AppError> {
        let plan_path = std::path::absolute(place.path()).context("cannot determine the current directory")?;
        let copy = LauncherCopy::beside(&plan_path, launcher)?;
        Ok(Self { program, options, place, plan_path, recorded, launcher, copy })
    }

    fn command(&self, launcher: &Path) -> CommandLine {
        let mut arguments = self.launcher.words.clone();
        arguments.extend([self.plan_path.clone().into(), "--".into(), self.program.program.clone()]);
        arguments.extend(self.program.arguments.iter().cloned());
        CommandLine { program: launcher.into(), arguments }
    }
}

impl Fix for PrefetchFix<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn predict(&self) -> Option<f64> {
        let predicted = self.recorded.plan.summary.predicted_start;
        (!predicted.is_zero()).then_some(predicted.as_secs_f64())
    }

    fn apply(&mut self) -> Result<CommandLine, AppError> {
        write_plan(self.place, &self.recorded.plan)?;
        Ok(self.command(&self.copy.path))
    }

    fn prove(&self) -> Result<Proof, AppError> {
        let bytes = read_plan(&self.plan_path)?;
        let plan = PlanView::read(&bytes).context("the new plan is invalid")?;
        let stale = check_targets(&plan)
            .iter()
            .filter(|outcome| matches!(outcome, TargetOutcome::Changed { .. } | TargetOutcome::Missing))
            .count();
        let whole = match stale {
            0 => "the plan is valid and all its files are unchanged".to_owned(),
            stale => {
                let files = counted(stale as u64, "file");
                let are = if stale == 1 { "is" } else { "are" };
                format!("the plan is valid; {files} {are} left out because of changes")
            }
        };
        let Sameness { differs, findings, unchecked } = self.compared()?;
        let findings = std::iter::once(whole).chain(findings).collect();
        Ok(Proof { holds: !differs, findings, unchecked })
    }

    fn command_from_now_on(&self) -> String {
        self.command(Path::new(&self.launcher.name)).to_string()
    }
}

impl PrefetchFix<'_> {
    /// Starts the program without the plan and with it, and compares.
    ///
    /// Starts without it come first and last, so that changes over time also appear between those. If there is a difference,
    /// more of them follow: this detects a program that behaves differently at every second or third start.
    fn compared(&self) -> Result<Sameness, AppError> {
        let with_plan = self.command(&self.copy.path);
        let mut plain = vec![self.start(self.program)?];
        let mut fixed = Vec::new();
        for _ in 0..STARTS {
            fixed.push(self.start(&with_plan)?);
            plain.push(self.start(self.program)?);
        }
        let found = compare(&plain, &fixed);
        if !found.differs {
            return Ok(found);
        }
        for _ in 0..MORE_STARTS {
            plain.push(self.start(self.program)?);
        }
        Ok(compare(&plain, &fixed))
    }

    /// One start with its output kept.
    fn start(&self, command: &CommandLine) -> Result<Start, AppError> {
        let file = tempfile::NamedTempFile::new().context("cannot keep the program's output for comparison")?;
        let options = LaunchOptions { output: Output::File(file.path().to_path_buf()), ..self.options.clone() };
        let launched = launch(command, &options, None, &mut || ())?;
        let output = fs::read(file.path()).context("cannot read the program's output back")?;
        let was_cut = matches!(launched.end, End::Ended | End::TimedOut);
        Ok(Start { end: launched.end.to_string(), output, was_cut })
    }
}

/// A copy of the launcher next to the plan, removed after the measurement.
///
/// The launcher may be the measuring program itself, which stays in the page cache; a launcher that is never cold would make
/// every figure too good. The copy is a separate file and as cold as the program.
struct LauncherCopy {
    path: PathBuf,
    _file: StagedFile,
}

impl LauncherCopy {
    fn beside(plan: &Path, launcher: &Launcher) -> Result<Self, AppError> {
        let directory = plan.parent().unwrap_or(Path::new("/"));
        let copy = || -> std::io::Result<StagedFile> {
            // Leftovers of a killed run are removed when the plan is written.
            let mut file = StagedFile::create_named(directory, OsStr::new(&launcher.name), 0o755)?;
            std::io::copy(&mut fs::File::open(&launcher.file)?, &mut file.file())?;
            file.file().set_permissions(fs::Permissions::from_mode(0o755))?;
            file.file().sync_all()?;
            // It must be closed for writing to be executed (ETXTBSY).
            file.close_writer();
            Ok(file)
        };
        let cannot = || format!("cannot create a launcher in `{}`", printable(directory));
        let file = copy().with_context(cannot)?;
        let path = file.temporary_path().with_context(cannot)?.to_owned();
        Ok(Self { path, _file: file })
    }
}
