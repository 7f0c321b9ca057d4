//! Installing a plan, an image or an index, for every verb that does.

use std::path::Path;

use coldstart_app::install::{
    ImageToInstall, IndexToInstall, InstallOutcome, InstallRequest, PlanToInstall, SCHEMA, install, parse_places,
    places_for,
};
use coldstart_app::launching::Waiting;
use coldstart_app::speedup::{FixKind, Launcher};
use coldstart_install::{FixInUse, RecordingFacts, Stored};
use coldstart_launch::CommandLine;

use crate::args::installing::InstallArgs;
use crate::args::launching::ProgramArgs;
use crate::commands::installed::{cost, cost_of_index};
use crate::commands::launching::command_line;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, list};
use crate::output::{self, json};

/// What is needed to record a plan again.
pub(crate) fn recording(
    waiting: &Waiting,
    input: Option<&Path>,
    strategy: Option<&str>,
    exact: bool,
) -> Result<RecordingFacts, CliError> {
    let input = input.map(std::path::absolute).transpose()?;
    Ok(RecordingFacts {
        ready: waiting.ready.to_string(),
        input: input.map(|path| Stored::from(path.as_path())),
        time_limit_seconds: waiting.time_limit.as_secs_f64(),
        grace_seconds: waiting.grace.as_secs_f64(),
        strategy: strategy.map(str::to_owned),
        exact,
    })
}

/// What the launcher is given.
#[derive(Default)]
pub(crate) struct StartFiles {
    /// The plan.
    pub(crate) plan: Option<PlanToInstall>,
    /// The image, instead of a plan.
    pub(crate) image: Option<ImageToInstall>,
    /// The index, alone or with one of them.
    pub(crate) index: Option<IndexToInstall>,
}

impl StartFiles {
    /// As fixes in use, not measured.
    pub(crate) fn fixes(&self) -> Vec<FixInUse> {
        let fixes = [
            self.index.as_ref().map(|_| FixKind::Index),
            self.image.as_ref().map(|_| FixKind::Image),
            self.plan.as_ref().map(|_| FixKind::Prefetch),
        ];
        let in_use =
            |kind: FixKind| FixInUse { fix: kind.name().to_owned(), before_seconds: None, after_seconds: None };
        fixes.into_iter().flatten().map(in_use).collect()
    }
}

/// The index of this name, if one is named.
pub(crate) fn opened(index: Option<&Path>) -> Result<Option<IndexToInstall>, CliError> {
    index.map(IndexToInstall::open).transpose()
}

/// What is to be installed, as the arguments say.
pub(crate) fn request(
    args: &InstallArgs,
    program: CommandLine,
    files: StartFiles,
    recording: RecordingFacts,
    fixes: Vec<FixInUse>,
) -> Result<InstallRequest, CliError> {
    let StartFiles { plan, image, index } = files;
    Ok(InstallRequest {
        program,
        name: args.name.clone(),
        plan,
        image,
        index,
        launcher: Launcher::installed()?,
        places: parse_places(&args.places)?,
        also: parse_places(&args.also())?,
        directories: places_for(args.user)?,
        recording,
        working_directory: std::env::current_dir()?,
        fixes,
        changes: Vec::new(),
    })
}

/// Installs files that exist, and shows what was done.
pub(crate) fn run(
    args: &InstallArgs,
    program: &ProgramArgs,
    files: StartFiles,
    recording: RecordingFacts,
    is_json: bool,
) -> Result<Exit, CliError> {
    let fixes = files.fixes();
    let outcome = install(&request(args, command_line(program), files, recording, fixes)?, &Terminal)?;
    match is_json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}

/// The outcome in a few lines.
pub(crate) fn in_words(outcome: &InstallOutcome) -> String {
    let mut text = format!("installed {}\n", printable(outcome.program.path()));
    for place in &outcome.places {
        text.push_str(&list("place", &place.summary));
    }
    if let Some(image) = &outcome.image {
        text.push_str(&list("image", &cost(image)));
    }
    if let Some(index) = &outcome.index {
        text.push_str(&list("index", &cost_of_index(index)));
    }
    if let Some(first) = outcome.replaced_files.first() {
        let first = printable(first.path());
        text.push_str(&list(
            "replaced",
            &match outcome.replaced_files.len() {
                1 => format!("{first}, whose original is kept beside it"),
                count => format!(
                    "{first} and {}, whose originals are kept beside them",
                    counted(count as u64 - 1, "more file")
                ),
            },
        ));
    }
    let user = if outcome.scope == coldstart_install::Scope::User && is_root() { " --user" } else { "" };
    let undo = coldstart_app::command::of_ours("installed", [outcome.name.word()]);
    text.push_str(&list("undo", &format!("`{undo}{user} --uninstall`")));
    for place in &outcome.places {
        if let Some(command) = &place.afterwards {
            text.push_str(&format!("run now: {}\n", printable(Path::new(command))));
        }
    }
    text
}

fn is_root() -> bool {
    coldstart_app::install::is_root()
}
