//! `installed --refresh`: records a program again with the options of its installation, and exchanges the index, then the plan or the image.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use coldstart_install::place::PlaceChoice;
use coldstart_install::{
    InstallError, Installation, InstallationState, Manifest, Scope, Stored, update_changed_files, update_image,
    update_index, update_plan,
};
use coldstart_launch::{CommandLine, LaunchOptions, Readiness};
use coldstart_prefetch::Strategy;
use coldstart_profile::printable;
use rustix::fs::{Access, access};
use serde::Serialize;

use super::changed::{FileReplacer, change, refresh_files};
use super::image::{ImageToInstall, make_again, mount_if_due};
use super::index::{self, IndexToInstall};
use super::packages::{of_files, of_plan};
use super::registries::{Located, locate};
use super::{InstallRequest, PlanToInstall, install, told};
use crate::error::{AppError, HintExt};
use crate::image::RecordedStart;
use crate::index::IndexInUse;
use crate::launching::{Launching, Waiting};
use crate::observer::Observer;
use crate::prefetch::{MakeCold, PlanRecorder, now, record_as};
use crate::speedup::Launcher;

/// An installation that was brought up to date.
#[derive(Clone, Debug, Serialize)]
pub struct RefreshOutcome {
    /// The installation.
    pub name: Stored,
    /// For whom it is.
    pub scope: Scope,
    /// Bytes that a start reads by the new plan, or of the new image.
    pub bytes: u64,
    /// Size of the new image in bytes; `None` for a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<u64>,
    /// Calls that named a file in a plain start, and with the new index; `None` without an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_calls: Option<[u64; 2]>,
    /// Predicted duration of a cold start with it, in seconds; 0 if unknown.
    pub predicted_start_seconds: f64,
    /// Whether the places were written again, because what they are made from has changed, or they were gone.
    pub places_written: bool,
    /// Number of files of the program that are replaced.
    pub replaced_files: usize,
    /// Files that are not replaced any more, a sentence each.
    pub notes: Vec<String>,
    /// What the user has to do now, as commands.
    pub afterwards: Vec<String>,
}

/// Makes replaced files again from their originals, makes the index again, records the program again, and replaces the plan or the image:
/// a program that starts meanwhile sees the old or the new one.
///
/// # Errors
/// If nothing of this name is installed, it is half-made, or the program cannot be recorded. The old plan, image or index is then in use.
pub fn refresh(name: &OsStr, only_user: bool, observer: &dyn Observer) -> Result<RefreshOutcome, AppError> {
    refresh_located(name, &locate(name, only_user)?, MakeCold::Everything, observer)
}

/// The same for an installation that was found already.
pub(crate) fn refresh_located(
    name: &OsStr,
    located: &Located,
    make_cold: MakeCold,
    observer: &dyn Observer,
) -> Result<RefreshOutcome, AppError> {
    let mut manifest =
        located.registry.read(name)?.ok_or_else(|| InstallError::NotInstalled { name: name.to_owned() })?;
    let shown = printable(Path::new(name));
    if manifest.state != InstallationState::Installed {
        return Err(anyhow!("cannot refresh `{shown}`: it is half-made"))
            .hint(|| super::registries::command(name, "--repair", located.directories.scope));
    }
    if !manifest.has_launcher() && manifest.body.changed_files.is_empty() {
        return Err(anyhow!("`{shown}` has no plan, image or index to be made again"))
            .hint(|| "`coldstart installed` says what it has");
    }
    // Before the long part.
    let directory = located.registry.directory();
    access(directory, Access::WRITE_OK)
        .map_err(|errno| InstallError::io("write to", directory)(errno.into()))
        .hint(|| format!("use `{}`", super::registries::command(name, "--refresh", located.directories.scope)))?;
    let mut outcome = RefreshOutcome {
        name: Stored::new(name),
        scope: located.directories.scope,
        bytes: 0,
        image_bytes: None,
        index_calls: None,
        predicted_start_seconds: 0.0,
        places_written: false,
        replaced_files: manifest.body.changed_files.len(),
        notes: Vec::new(),
        afterwards: Vec::new(),
    };
    if !manifest.body.changed_files.is_empty() {
        observer.note("making the changed files again");
        let (left, notes) = refresh_files(&manifest.body.changed_files)?;
        outcome.replaced_files = left.len();
        outcome.notes = notes;
        if left != manifest.body.changed_files {
            manifest = update_changed_files(&located.registry, name, left)?;
        }
        if !manifest.has_launcher() {
            return Ok(outcome);
        }
    }
    let index = match &manifest.body.index {
        Some(_) => {
            let (updated, in_use) = refresh_index(name, located, &manifest, &mut outcome, observer)?;
            manifest = updated;
            Some(in_use)
        }
        None => None,
    };
    if manifest.body.image.is_some() {
        return refresh_image(name, located, manifest, index, outcome, make_cold, observer);
    }
    if !manifest.body.has_plan {
        if needs_new_places(&manifest) {
            place_again(&request(name, located, manifest, Start::Index)?, &mut outcome, observer)?;
        }
        return Ok(outcome);
    }
    let command = command(&manifest);
    let options = IndexInUse::added_to(index.as_ref(), options(&manifest)?);
    observer.note(&format!("recording a start of {command}"));
    let recorder = PlanRecorder {
        command: &command,
        options: &options,
        strategy: strategy(&manifest),
        make_cold,
        without: index.as_ref().map(IndexInUse::directory),
    };
    let recorded = record_as(&recorder, manifest.body.recording.exact)
        .map_err(|error| error.within(format!("cannot refresh `{shown}`")))?;
    for note in &recorded.notes {
        observer.note(note);
    }
    let bytes = recorded.plan.to_bytes().context("cannot write the new plan")?;
    outcome.bytes = recorded.plan.steps.iter().filter_map(|step| step.pages).map(|pages| pages.length()).sum();
    outcome.predicted_start_seconds = recorded.plan.summary.predicted_start.as_secs_f64();
    if needs_new_places(&manifest) {
        place_again(&request(name, located, manifest, Start::Plan(bytes))?, &mut outcome, observer)?;
    } else {
        let sources = index_sources(&located.registry.installation(name)?, &manifest)?;
        let sources: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
        let packages = told(of_plan(&bytes, &sources), observer);
        update_plan(&located.registry, name, &bytes, packages.as_deref(), now(), env!("CARGO_PKG_VERSION"))?;
    }
    Ok(outcome)
}

/// Installs again what was made again, at new places.
fn place_again(
    request: &InstallRequest,
    outcome: &mut RefreshOutcome,
    observer: &dyn Observer,
) -> Result<(), AppError> {
    let installed = install(request, observer)?;
    outcome.places_written = true;
    outcome.afterwards = installed.places.into_iter().filter_map(|place| place.afterwards).collect();
    Ok(())
}

/// Makes the index again beside the one in use, and exchanges them. What follows is recorded with the new one.
fn refresh_index(
    name: &OsStr,
    located: &Located,
    manifest: &Manifest,
    outcome: &mut RefreshOutcome,
    observer: &dyn Observer,
) -> Result<(Manifest, IndexInUse), AppError> {
    let failed = |error: AppError| error.within(format!("cannot refresh `{}`", printable(Path::new(name))));
    let installation = located.registry.installation(name)?;
    let command = command(manifest);
    observer.note(&format!("making the index of {command} again"));
    let shim = manifest.body.index.as_ref().is_some_and(index::has_shim);
    let made = index::make_again(&installation, &command, &options(manifest)?, shim, observer).map_err(failed)?;
    outcome.index_calls = Some(made.calls);
    let new = IndexToInstall::open(&installation.new_index())?;
    let read = new.read(&command, &installation, located.directories.scope).map_err(failed)?;
    let sources: Vec<&Path> = read.sources().collect();
    let packages = told(of_files(&sources), observer);
    let version = env!("CARGO_PKG_VERSION");
    let updated = update_index(&located.registry, name, read.record, packages.as_deref(), now(), version)?;
    Ok((updated, IndexInUse::open(&installation.index())?))
}

/// What the index of an installation was made from; nothing without one.
fn index_sources(installation: &Installation, manifest: &Manifest) -> Result<Vec<PathBuf>, AppError> {
    match &manifest.body.index {
        Some(_) => Ok(IndexToInstall::open(&installation.index())?.sources().map(Path::to_owned).collect()),
        None => Ok(Vec::new()),
    }
}

/// Makes the image again beside the one in use, and exchanges them.
fn refresh_image(
    name: &OsStr,
    located: &Located,
    manifest: Manifest,
    index: Option<IndexInUse>,
    mut outcome: RefreshOutcome,
    make_cold: MakeCold,
    observer: &dyn Observer,
) -> Result<RefreshOutcome, AppError> {
    let failed = |error: AppError| error.within(format!("cannot refresh `{}`", printable(Path::new(name))));
    let Some(record) = &manifest.body.image else { return Ok(outcome) };
    let installation = located.registry.installation(name)?;
    let command = command(&manifest);
    observer.note(&format!("making the image of {command} again"));
    let start = RecordedStart {
        command: command.clone(),
        launching: launching(&manifest)?,
        working_directory: working_directory(&manifest),
        make_cold,
        index,
    };
    let image = make_again(record, &installation, start, observer).map_err(failed)?;
    let read = image.read(&command)?;
    (outcome.bytes, outcome.image_bytes) = (read.record.read_bytes, Some(read.record.bytes));
    if needs_new_places(&manifest) {
        place_again(&request(name, located, manifest, Start::Image(image))?, &mut outcome, observer)?;
        return Ok(outcome);
    }
    let sources = index_sources(&installation, &manifest)?;
    let mut files = read.files();
    files.extend(sources.iter().map(PathBuf::as_path));
    let packages = told(of_files(&files), observer);
    let version = env!("CARGO_PKG_VERSION");
    let manifest =
        update_image(&located.registry, name, read.record, packages.as_deref(), now(), version, &FileReplacer)?;
    mount_if_due(&manifest, &installation)?;
    Ok(outcome)
}

fn command(manifest: &Manifest) -> CommandLine {
    let program = &manifest.body.program;
    CommandLine {
        program: program.path.word().to_owned(),
        arguments: program.arguments.iter().map(|word| word.word().to_owned()).collect(),
    }
}

/// The options of the recorded start.
fn launching(manifest: &Manifest) -> Result<Launching, AppError> {
    let recording = &manifest.body.recording;
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).context("a time in the manifest is not one");
    let ready: Readiness = recording.ready.parse().context("cannot use the readiness in the manifest")?;
    let waiting =
        Waiting { ready, time_limit: seconds(recording.time_limit_seconds)?, grace: seconds(recording.grace_seconds)? };
    let input = recording.input.as_ref().map(|input| input.path().to_owned());
    Ok(Launching { waiting, input, show_output: false })
}

/// The same for a launch, where it was.
fn options(manifest: &Manifest) -> Result<LaunchOptions, AppError> {
    Ok(LaunchOptions { working_directory: working_directory(manifest), ..launching(manifest)?.options()? })
}

/// The directory of the recorded start; `None`, which is ours, if it is gone.
fn working_directory(manifest: &Manifest) -> Option<PathBuf> {
    let directory = manifest.body.program.working_directory.path();
    directory.is_dir().then(|| directory.to_owned())
}

fn strategy(manifest: &Manifest) -> Option<Strategy> {
    match manifest.body.recording.strategy.as_deref() {
        Some("blocking") => Some(Strategy::Blocking),
        Some("concurrent") => Some(Strategy::Concurrent),
        _ => None,
    }
}

/// Whether a place is gone, or made from something that has changed, or from a launcher that is gone.
fn needs_new_places(manifest: &Manifest) -> bool {
    !(manifest.is_in_place() && manifest.body.launcher.file.path().is_file())
}

/// What was made again.
enum Start {
    Plan(Vec<u8>),
    Image(ImageToInstall),
    /// The index alone.
    Index,
}

/// The installation as it was asked for, with the new plan or image, and the index that it has now.
fn request(name: &OsStr, located: &Located, manifest: Manifest, start: Start) -> Result<InstallRequest, AppError> {
    let program = command(&manifest);
    let body = manifest.body;
    let places = body.places.iter().map(|place| PlaceChoice::parse(place.place.word()));
    let places = places.collect::<Result<Vec<_>, InstallError>>()?;
    let file: PathBuf = body.launcher.file.path().to_owned();
    let launcher = match file.is_file() {
        true => Launcher {
            name: printable(&file),
            words: body.launcher.words.iter().map(|word| word.word().to_owned()).collect(),
            file,
        },
        false => Launcher::installed()?,
    };
    let (plan, image) = match start {
        Start::Plan(bytes) => (Some(PlanToInstall::Bytes(bytes)), None),
        Start::Image(image) => (None, Some(image)),
        Start::Index => (None, None),
    };
    let index = match body.index {
        Some(_) => Some(IndexToInstall::open(&located.registry.installation(name)?.index())?),
        None => None,
    };
    Ok(InstallRequest {
        program,
        name: Some(name.to_owned()),
        plan,
        image,
        index,
        launcher,
        places,
        also: Vec::new(),
        directories: located.directories.clone(),
        recording: body.recording,
        working_directory: body.program.working_directory.path().to_owned(),
        fixes: body.fixes,
        changes: body.changed_files.iter().map(change).collect::<Result<_, _>>()?,
    })
}
