//! `prefetch install`, `image install`, `index install`, `installed`: fixes installed where people start programs, listed, refreshed and undone.
//!
//! What is written where is planned and done in `coldstart_install`; here are the program, its plan and the words.

mod changed;
mod health;
mod image;
mod index;
mod packages;
mod program;
mod refresh;
mod registries;
mod undo;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_install::place::{
    Mount, Place, PlaceChoice, PlannedPlace, StartWay, StartWith, Subject, SystemFacts, default_places, starter_file,
};
use coldstart_install::{
    Directories, Draft, FixInUse, InstallError, Installation, LauncherRecord, NewManifest, PlannedFile, ProgramRecord,
    RecordingFacts, Registry, Scope, Stored,
};
use coldstart_launch::CommandLine;
use coldstart_profile::plan::PlanView;
use coldstart_profile::printable;
use serde::Serialize;

use crate::error::{AppError, HintExt};
use crate::fix_kind::FileChange;
use crate::observer::Observer;
use crate::prefetch::{now, read_plan, view_plan};
use crate::speedup::{LaunchWith, Launcher};

pub use changed::{FellBack, FileReplacer, Guard, fall_back};
pub use health::{Health, InstallationReport, Listing, PlaceReport, Remedy, StaleFile, installations_with, list};
use image::ReadImage;
pub use image::{ImageToInstall, InstalledImage};
use index::ReadIndex;
pub use index::{IndexToInstall, InstalledIndex};
pub use packages::ChangedPackage;
pub(crate) use refresh::refresh_located;
pub use refresh::{RefreshOutcome, refresh};
pub(crate) use registries::every_scope;
pub use registries::{Located, locate, places_for};
pub use undo::{RepairOutcome, Repairs, UndoOutcome, repair, uninstall};

/// The schema of an [`InstallOutcome`] as JSON.
pub const SCHEMA: &str = "coldstart.install/1";
/// The schema of a [`Listing`] as JSON.
pub const LIST_SCHEMA: &str = "coldstart.installed-list/1";

/// The plan of an installation.
#[derive(Clone, Debug)]
pub enum PlanToInstall {
    /// The plan in this file.
    File(PathBuf),
    /// This plan.
    Bytes(Vec<u8>),
}

impl PlanToInstall {
    fn read(&self) -> Result<Vec<u8>, AppError> {
        match self {
            Self::File(path) => {
                let bytes = read_plan(path)?;
                view_plan(path, &bytes)?;
                Ok(bytes)
            }
            Self::Bytes(bytes) => {
                PlanView::read(bytes).context("the plan is invalid")?;
                Ok(bytes.clone())
            }
        }
    }
}

/// What is to be installed, and where.
#[derive(Clone)]
pub struct InstallRequest {
    /// The program, and the arguments of the recorded start.
    pub program: CommandLine,
    /// Its name among the installations; `None` for that of the program's file.
    pub name: Option<OsString>,
    /// The plan; `None` if there is an image, only an index, or only files are replaced. Without all three there are no places either.
    pub plan: Option<PlanToInstall>,
    /// The image that the program is started from instead.
    pub image: Option<ImageToInstall>,
    /// The index that it is started with, alone or with one of both.
    pub index: Option<IndexToInstall>,
    /// The program that replays the plan, or starts from the image or with the index.
    pub launcher: Launcher,
    /// Where it is installed; none for those that fit: the desktop entries that start the program, and a wrapper.
    pub places: Vec<PlaceChoice>,
    /// Places besides these, or besides those that fit.
    pub also: Vec<PlaceChoice>,
    /// For whom: [`places_for`].
    pub directories: Directories,
    /// What is needed to record the plan again.
    pub recording: RecordingFacts,
    /// The working directory of the recorded start.
    pub working_directory: PathBuf,
    /// The fixes in use.
    pub fixes: Vec<FixInUse>,
    /// Files of the program that are replaced.
    pub changes: Vec<FileChange>,
}

/// What was installed.
#[derive(Clone, Debug, Serialize)]
pub struct InstallOutcome {
    /// The name of the installation.
    pub name: Stored,
    /// For whom.
    pub scope: Scope,
    /// The program.
    pub program: Stored,
    /// Its directory.
    pub directory: Stored,
    /// Where it was installed.
    pub places: Vec<InstalledPlace>,
    /// Files of the program that were replaced.
    pub replaced_files: Vec<Stored>,
    /// The image, and what it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<InstalledImage>,
    /// The index, and what it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<InstalledIndex>,
    /// Whether there is a plan, an image or an index.
    #[serde(skip)]
    has_launcher: bool,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// A place at which a program was installed.
#[derive(Clone, Debug, Serialize)]
pub struct InstalledPlace {
    /// As it was asked for.
    pub place: Stored,
    /// What it is and for whom, as a clause.
    pub summary: String,
    /// The files.
    pub files: Vec<Stored>,
    /// What the user has to do now: a command.
    pub afterwards: Option<String>,
}

/// Installs a plan, an image or an index where the program is started, and replaces files of the program. An installation of the same program under this name is replaced.
///
/// # Errors
/// If the program, the plan, the image or the index cannot be used, a place refuses it, or something cannot be written. Then nothing is installed.
pub fn install(request: &InstallRequest, observer: &dyn Observer) -> Result<InstallOutcome, AppError> {
    let program = program::original(&request.program.program, &request.directories)?;
    let name = request.name.clone().or_else(|| program.file_name().map(OsString::from)).unwrap_or_default();
    let plan = request.plan.as_ref().map(PlanToInstall::read).transpose()?;
    let image = request.image.as_ref().map(|image| image.read(&request.program)).transpose()?;
    let registry = Registry::new(&request.directories.registry);
    let installation = registry.installation(&name)?;
    let read = |index: &IndexToInstall| index.read(&request.program, &installation, request.directories.scope);
    let index = request.index.as_ref().map(read).transpose()?;
    let sources: Vec<&Path> = index.iter().flat_map(ReadIndex::sources).collect();
    let packages = match (&plan, &image) {
        (Some(plan), _) => told(packages::of_plan(plan, &sources), observer),
        (None, Some(image)) => told(packages::of_files(&[image.files(), sources].concat()), observer),
        (None, None) if index.is_some() => told(packages::of_files(&sources), observer),
        (None, None) => None,
    };
    let system = system_facts()?;
    let mut planned = Vec::new();
    let mut notes: Vec<String> = image.iter().flat_map(|image| image.notes.clone()).collect();
    notes.extend(index.iter().flat_map(|index| index.notes.clone()));
    let draft = |installation: &Installation| {
        let prepared =
            Prepared { request, name: &name, program: &program, plan, image, index, packages, system: &system };
        draft(prepared, installation, &mut planned, &mut notes)
    };
    let manifest = coldstart_install::install(&registry, &name, draft, &FileReplacer, &program)
        .with_context(|| format!("cannot install `{}`", printable(&program)))?;
    if let Err(error) = image::mount_if_due(&manifest, &installation) {
        coldstart_install::uninstall(&registry, &name, &FileReplacer, false)?;
        return Err(error.within(format!("cannot install `{}`", printable(&program))));
    }
    if request.directories.scope == Scope::System {
        let starts = planned.iter().filter_map(|(_, place)| place.starts.as_deref());
        let mut started: Vec<&Path> = starts.chain([&*request.launcher.file]).collect();
        started.sort();
        started.dedup();
        notes.extend(started.into_iter().filter_map(program::unsafe_launcher));
    }
    for note in &notes {
        observer.note(note);
    }
    let place = |(choice, planned): (PlaceChoice, PlannedPlace)| InstalledPlace {
        place: Stored::new(choice.words()),
        summary: planned.summary,
        files: {
            let own = planned.files.iter().map(|file| file.path.as_path());
            own.chain(planned.shared.iter().map(|file| file.path.as_path())).map(Stored::from).collect()
        },
        afterwards: planned.afterwards,
    };
    Ok(InstallOutcome {
        directory: Stored::from(installation.directory()),
        has_launcher: manifest.has_launcher(),
        name: manifest.name,
        scope: request.directories.scope,
        program: manifest.body.program.path.clone(),
        places: planned.into_iter().map(place).collect(),
        replaced_files: manifest.body.changed_files.into_iter().map(|file| file.path).collect(),
        image: manifest.body.image.as_ref().map(|record| InstalledImage::of(record, &installation)),
        index: manifest.body.index.as_ref().map(|record| InstalledIndex::of(record, &installation)),
        notes,
    })
}

impl InstallOutcome {
    /// How the program is started now, with the arguments of `program`.
    pub(crate) fn command(&self, program: &CommandLine) -> CommandLine {
        if !self.has_launcher {
            return program.clone();
        }
        let starter = self.directory.path().join(coldstart_install::STARTER);
        let mut arguments = vec![self.program.word().to_owned()];
        arguments.extend(program.arguments.iter().cloned());
        CommandLine { program: starter.into(), arguments }
    }
}

/// What is known before anything is planned.
struct Prepared<'a> {
    request: &'a InstallRequest,
    name: &'a std::ffi::OsStr,
    program: &'a Path,
    plan: Option<Vec<u8>>,
    image: Option<ReadImage>,
    index: Option<ReadIndex>,
    packages: Option<Vec<u8>>,
    system: &'a SystemFacts,
}

fn draft(
    prepared: Prepared<'_>,
    installation: &Installation,
    planned: &mut Vec<(PlaceChoice, PlannedPlace)>,
    notes: &mut Vec<String>,
) -> Result<Draft, InstallError> {
    let Prepared { request, name, program, plan, image, index, packages, system } = prepared;
    let has_launcher = plan.is_some() || image.is_some() || index.is_some();
    let start_with = match (&plan, &image) {
        (_, Some(_)) => StartWith::Image,
        (None, None) if index.is_some() => StartWith::Index,
        _ => StartWith::Plan,
    };
    let launcher = request.launcher.remembered(start_with);
    let ways = ways(&launcher, start_with, index.is_some(), installation);
    let subject = Subject {
        name,
        program,
        arguments: &request.program.arguments,
        start_with,
        launcher: &launcher.file,
        ways: &ways,
        installation,
        directories: &request.directories,
        system,
    };
    if has_launcher {
        let mut also = request.also.clone();
        // Without it, only root's starts use an image.
        let mount = PlaceChoice::Mount(Mount);
        if image.is_some() && request.directories.scope == Scope::System && !request.places.contains(&mount) {
            also.retain(|place| *place != mount);
            also.push(mount);
        }
        *planned = plan_places(&subject, &request.places, &also, notes)?;
    } else {
        // The others start the program with something.
        let asked: Vec<PlaceChoice> =
            request.places.iter().chain(&request.also).filter(|place| !place.needs_plan()).cloned().collect();
        if !asked.is_empty() {
            *planned = plan_places(&subject, &asked, &[], notes)?;
        }
    }
    let stored = |words: &[OsString]| words.iter().cloned().map(Stored::new).collect();
    let now = now();
    let body = NewManifest {
        coldstart: env!("CARGO_PKG_VERSION").to_owned(),
        installed_at: now,
        recorded_at: plan.as_deref().and_then(recorded_at).unwrap_or(now),
        program: ProgramRecord {
            path: Stored::from(program),
            arguments: stored(&request.program.arguments),
            working_directory: Stored::from(request.working_directory.as_path()),
        },
        recording: request.recording.clone(),
        fixes: request.fixes.clone(),
        has_plan: plan.is_some(),
        image: image.as_ref().map(|image| image.record.clone()),
        index: index.as_ref().map(|index| index.record.clone()),
        launcher: LauncherRecord { file: Stored::from(launcher.file.as_path()), words: stored(&launcher.words) },
        places: Vec::new(),
        changed_files: changed::planned(&request.changes, installation, &request.directories),
    };
    let mut own_files = Vec::new();
    if has_launcher {
        own_files.push(starter_file(&subject));
        own_files.extend(packages.map(|bytes| PlannedFile { path: installation.packages(), bytes, mode: 0o644 }));
        own_files.extend(planned.iter().flat_map(|(_, place)| place.own_files.clone()));
    }
    let places = planned.iter().map(|(choice, place)| place.draft(choice.words())).collect();
    let index = index.map(|index| index.files).unwrap_or_default();
    Ok(Draft { body, plan, image: image.map(|image| image.file), index, own_files, places })
}

/// How the starter begins, with the files where they will lie.
fn ways(launcher: &Launcher, start_with: StartWith, has_index: bool, installation: &Installation) -> Vec<StartWay> {
    let (plan, image, index) = (installation.plan(), installation.image(), installation.index());
    let start = match start_with {
        StartWith::Plan => Some((start_with, plan.as_path())),
        StartWith::Image => Some((start_with, image.as_path())),
        StartWith::Index => None,
    };
    launcher.ways(&LaunchWith { index: has_index.then_some(index.as_path()), start })
}

/// What would be written at each place. Of the default places, those that refuse the program are left out.
fn plan_places(
    subject: &Subject<'_>,
    asked: &[PlaceChoice],
    also: &[PlaceChoice],
    notes: &mut Vec<String>,
) -> Result<Vec<(PlaceChoice, PlannedPlace)>, InstallError> {
    let is_default = asked.is_empty();
    let choices = if is_default { default_places(subject) } else { asked.to_vec() };
    let mut planned = Vec::new();
    let mut refused = None;
    for choice in choices {
        match choice.plan(subject) {
            Ok(place) => {
                notes.extend(place.notes.iter().cloned());
                planned.push((choice, place));
            }
            Err(error @ InstallError::Refused { .. }) if is_default => {
                notes.push(format!("{}: {error}", printable(Path::new(&choice.words()))));
                refused = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = refused.filter(|_| planned.is_empty()) {
        return Err(error);
    }
    for choice in also.iter().filter(|choice| !asked.contains(choice)) {
        let place = choice.plan(subject)?;
        notes.extend(place.notes.iter().cloned());
        planned.push((choice.clone(), place));
    }
    Ok(planned)
}

/// What is recorded of the packages of a start's files. Without it, a stale installation cannot name the package that changed.
fn told(packages: Result<Vec<u8>, AppError>, observer: &dyn Observer) -> Option<Vec<u8>> {
    packages
        .inspect_err(|error| {
            observer.note(&format!("the packages of the program's files are unknown: {}", error.sentence()))
        })
        .ok()
}

/// What units need to know of this machine.
fn system_facts() -> Result<SystemFacts, AppError> {
    Ok(SystemFacts {
        coldstart: crate::speedup::ourselves()?,
        package_databases: coldstart_packages::databases(Path::new("/")),
        systemd_runs: coldstart_host::service_manager::is_systemd(),
    })
}

/// Reads places from their words.
///
/// # Errors
/// If there is no such place.
pub fn parse_places(words: &[OsString]) -> Result<Vec<PlaceChoice>, AppError> {
    let mut places: Vec<PlaceChoice> = Vec::new();
    for words in words {
        let place = PlaceChoice::parse(words)?;
        if places.contains(&place) {
            return Err(AppError::new(format!("the place `{}` is given twice", printable(Path::new(words)))))
                .hint(|| "give each place once");
        }
        places.push(place);
    }
    Ok(places)
}

fn recorded_at(plan: &[u8]) -> Option<i64> {
    Some(PlanView::read(plan).ok()?.summary().recorded_at)
}

/// Whether this is root, for whom all users' installations are the default.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
