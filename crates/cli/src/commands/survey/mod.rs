//! `coldstart survey`: what every object of packages, images and root file systems costs at start-up, as Parquet tables.
//!
//! Not obvious: the work is done by `coldstart-survey`, a program beside this one that has the same arguments. What writes Parquet and
//! reads every kind of package is larger than all other verbs together, and few machines need it.

mod report;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Context, anyhow};
use coldstart_app::observer::Observer;
use coldstart_app::survey::{Options, Outcome, Report, SCHEMA};
use coldstart_app::text::{counted, counted_are, number, plain};
use coldstart_profile::printable;
use coldstart_sys::become_program::become_program;

use crate::args::survey::{MakeArgs, SurveyAction, SurveyArgs};
use crate::commands::observer::Console;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::{self, json};

/// The program with the work.
const PROGRAM: &str = "coldstart-survey";
/// Where it may be, seen from the directory of this program.
const PLACES: [&str; 3] = ["", "../libexec/coldstart", "../lib/coldstart"];

/// What does the work of this verb.
#[derive(Clone, Copy, Debug)]
pub struct Surveyor {
    /// Makes a survey.
    pub make: fn(&Options, &dyn Observer) -> Result<Outcome, CliError>,
    /// Sums up a survey.
    pub report: fn(&Path) -> Result<Report, CliError>,
}

static SURVEYOR: OnceLock<Surveyor> = OnceLock::new();

/// The whole command line, with this verb's work in this process.
pub fn main(surveyor: Surveyor) -> ExitCode {
    let _ = SURVEYOR.set(surveyor);
    crate::main()
}

pub(super) fn run(args: &SurveyArgs) -> Result<Exit, CliError> {
    let Some(surveyor) = SURVEYOR.get() else { return become_surveyor().map(|never| match never {}) };
    match &args.action {
        Some(SurveyAction::Report(args)) => report::run(args, surveyor),
        None => make(&args.make, surveyor),
    }
}

fn make(args: &MakeArgs, surveyor: &Surveyor) -> Result<Exit, CliError> {
    let directory = args.output.clone().unwrap_or_default();
    let options = Options {
        what: args.what.clone(),
        directory: directory.clone(),
        part: args.shard,
        one_file_system: args.one_file_system,
        scratch: args.scratch.clone(),
        ..Options::default()
    };
    let console = Console::default();
    let outcome = (surveyor.make)(&options, &console)?;
    if args.json {
        json::print(SCHEMA, &outcome)?;
    } else {
        output::print(&told(&directory, &outcome))?;
    }
    let done = if outcome.elsewhere > 0 { Exit::No } else { Exit::Done };
    Ok(console.into_complaints().finish().worse(done))
}

fn told(directory: &Path, outcome: &Outcome) -> String {
    let (objects, files) = (counted(outcome.objects, "object"), counted(outcome.files, "file"));
    let mut lines =
        vec![format!("{objects} of {files} in {}", counted(outcome.made.saturating_add(outcome.kept), "shard"))];
    lines.push(format!("{}; {}", counted(outcome.findings, "finding"), counted(outcome.problems, "problem")));
    if outcome.kept > 0 {
        lines.push(format!("{} complete before, {} made now", counted(outcome.kept, "shard"), number(outcome.made)));
    }
    if outcome.elsewhere > 0 {
        lines.push(format!("{} being made by another process", counted_are(outcome.elsewhere, "shard")));
    }
    let counts = plain(&lines.join("\n"));
    let tables = printable(directory);
    format!("{counts}\ntables: {tables}/*/objects.parquet, findings, needed, initialisers, owners, modules, problems\n")
}

/// Replaces this process by the program with the work.
fn become_surveyor() -> Result<Infallible, CliError> {
    let program =
        surveyor().hint(|| "install the package coldstart-survey, or build it with `cargo build --profile survey --package coldstart-survey-program` and put it beside coldstart")?;
    let words: Vec<OsString> = std::iter::once(program.clone().into()).chain(std::env::args_os().skip(1)).collect();
    Ok(become_program(&words).with_context(|| format!("cannot run `{}`", printable(&program)))?)
}

fn surveyor() -> Result<PathBuf, CliError> {
    let own = std::env::current_exe().context("cannot find out where coldstart is installed")?;
    let directory = own.parent().map(PathBuf::from).unwrap_or_default();
    let found = PLACES.iter().map(|place| directory.join(place).join(PROGRAM)).find(|path| path.is_file());
    Ok(found.ok_or_else(|| anyhow!("`coldstart survey` needs the program `{PROGRAM}`, which is not installed"))?)
}
