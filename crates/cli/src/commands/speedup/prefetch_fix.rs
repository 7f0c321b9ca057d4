//! The fix "prefetch": a plan, and a launcher that replays it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::{CommandLine, LaunchOptions, Output, launch};
use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::plan::PlanView;

use super::fix::{Fix, Proof};
use crate::commands::prefetch::{RecordedPlan, write_plan};
use crate::error::CliError;
use crate::output::path::printable;
use crate::output::size;

/// See `crates/launcher`.
const SMALL_LAUNCHER: &str = "coldstart-run";

/// A recorded plan on its way to being used.
pub(crate) struct PrefetchFix<'args> {
    program: &'args CommandLine,
    options: &'args LaunchOptions,
    plan_path: PathBuf,
    recorded: &'args RecordedPlan,
    launcher: LauncherCopy,
}

impl<'args> PrefetchFix<'args> {
    pub(crate) fn new(
        program: &'args CommandLine,
        options: &'args LaunchOptions,
        plan_path: &Path,
        recorded: &'args RecordedPlan,
    ) -> Result<Self, CliError> {
        let plan_path = std::path::absolute(plan_path).context("cannot tell the working directory")?;
        let launcher = LauncherCopy::beside(&plan_path)?;
        Ok(Self { program, options, plan_path, recorded, launcher })
    }

    fn command(&self, launcher: &Path) -> CommandLine {
        let mut arguments = self.launcher.verb.clone();
        arguments.extend([self.plan_path.clone().into(), "--".into(), self.program.program.clone()]);
        arguments.extend(self.program.arguments.iter().cloned());
        CommandLine { program: launcher.into(), arguments }
    }
}

impl Fix for PrefetchFix<'_> {
    fn name(&self) -> &'static str {
        "prefetch"
    }

    fn predict(&self) -> Option<f64> {
        let predicted = self.recorded.plan.summary.predicted_start;
        (!predicted.is_zero()).then_some(predicted.as_secs_f64())
    }

    fn apply(&mut self) -> Result<CommandLine, CliError> {
        write_plan(&self.plan_path, &self.recorded.plan)?;
        Ok(self.command(&self.launcher.path))
    }

    fn prove(&self) -> Result<Proof, CliError> {
        let bytes = fs::read(&self.plan_path)
            .with_context(|| format!("cannot read the plan `{}`", printable(&self.plan_path)))?;
        let plan = PlanView::read(&bytes).context("the plan that was just written does not hold")?;
        let stale = check_targets(&plan)
            .iter()
            .filter(|outcome| matches!(outcome, TargetOutcome::Changed { .. } | TargetOutcome::Missing))
            .count();
        let mut proof = Proof { holds: true, findings: Vec::new() };
        proof.findings.push(match stale {
            0 => "the plan reads back whole and all its files are as recorded".to_owned(),
            1 => "the plan reads back whole; 1 file changed meanwhile and is left out".to_owned(),
            stale => format!("the plan reads back whole; {stale} files changed meanwhile and are left out"),
        });
        let plain = self.outcome(self.program)?;
        let with_fix = self.outcome(&self.command(&self.launcher.path))?;
        proof.holds = plain.end == with_fix.end;
        proof.findings.push(match proof.holds {
            true => format!("the program {} with and without it", plain.end),
            false => format!("the program {} without it, but {} with it", plain.end, with_fix.end),
        });
        proof.findings.push(if plain.output == with_fix.output {
            format!("its output is the same ({})", size::bytes(plain.output.len() as u64))
        } else if plain.output == self.outcome(self.program)?.output {
            proof.holds = false;
            "its output differs".to_owned()
        } else {
            "its output differs from start to start without it, too".to_owned()
        });
        Ok(proof)
    }

    fn command_from_now_on(&self) -> String {
        self.command(Path::new(self.launcher.name)).to_string()
    }
}

impl PrefetchFix<'_> {
    /// One start with its output kept.
    fn outcome(&self, command: &CommandLine) -> Result<Outcome, CliError> {
        let file = tempfile::NamedTempFile::new().context("cannot keep the program's output for comparison")?;
        let options = LaunchOptions { output: Output::File(file.path().to_path_buf()), ..self.options.clone() };
        let launched = launch(command, &options, None, &mut || ())?;
        let output = fs::read(file.path()).context("cannot read the program's output back")?;
        Ok(Outcome { end: launched.end.to_string(), output })
    }
}

struct Outcome {
    end: String,
    output: Vec<u8>,
}

/// A copy of the launcher, beside the plan, removed when the measurement is over.
///
/// We run while we measure, so our own file's pages cannot be dropped; a launcher that is never cold would flatter every
/// figure. The copy is a file of its own and as cold as the program.
struct LauncherCopy {
    /// What the user will call it by.
    name: &'static str,
    /// Words between it and the plan.
    verb: Vec<OsString>,
    path: PathBuf,
    _file: tempfile::TempPath,
}

impl LauncherCopy {
    /// The small launcher where it is installed beside this program, else this program.
    fn beside(plan: &Path) -> Result<Self, CliError> {
        let folder = plan.parent().unwrap_or(Path::new("/"));
        let ourselves = std::env::current_exe().context("cannot find this program's own file")?;
        let small = ourselves.with_file_name(SMALL_LAUNCHER);
        let (name, verb, source) = if small.is_file() {
            (SMALL_LAUNCHER, Vec::new(), small)
        } else {
            ("coldstart", vec!["prefetch".into(), "run".into()], ourselves)
        };
        let copy = || -> std::io::Result<tempfile::TempPath> {
            let mut file = tempfile::Builder::new().prefix(".coldstart-launcher-").tempfile_in(folder)?;
            std::io::copy(&mut fs::File::open(&source)?, &mut file)?;
            file.as_file().set_permissions(fs::Permissions::from_mode(0o755))?;
            file.as_file().sync_all()?;
            // Closed for writing, or it could not be executed (ETXTBSY).
            Ok(file.into_temp_path())
        };
        let file = copy().with_context(|| format!("cannot write a launcher into `{}`", printable(folder)))?;
        Ok(Self { name, verb, path: file.to_path_buf(), _file: file })
    }
}
