//! `installed --refresh`: records a program again with the options of its installation, and exchanges the plan or the image.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use coldstart_install::place::PlaceChoice;
use coldstart_install::{
    InstallError, InstallationState, Manifest, Scope, Stored, update_changed_files, update_image, update_plan,
};
use coldstart_launch::{CommandLine, LaunchOptions, Readiness};
use coldstart_prefetch::Strategy;
use coldstart_profile::printable;
use rustix::fs::{Access, access};
use serde::Serialize;

use super::changed::{FileReplacer, change, refresh_files};
use super::image::{ImageToInstall, make_again, mount_if_due};
use super::packages::{of_files, of_plan};
use super::registries::{Located, locate};
use super::{InstallRequest, PlanToInstall, install, told};
use crate::error::{AppError, HintExt};
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

/// Makes replaced files again from their originals, records the program again, and replaces the plan or the image: a program that starts
/// meanwhile sees the old or the new one.
///
/// # Errors
/// If nothing of this name is installed, it is half-made, or the program cannot be recorded. The old plan or image is then in use.
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
    let shown = printable(std::path::Path::new(name));
    if manifest.state != InstallationState::Installed {
        return Err(anyhow!("cannot refresh `{shown}`: it is half-made"))
            .hint(|| super::registries::command(name, "--repair", located.directories.scope));
    }
    if !manifest.has_launcher() && manifest.body.changed_files.is_empty() {
        return Err(anyhow!("`{shown}` has neither a plan nor an image to be made again"))
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
    if manifest.body.image.is_some() {
        return refresh_image(name, located, manifest, outcome, make_cold, observer);
    }
    let command = command(&manifest);
    let options = LaunchOptions { working_directory: working_directory(&manifest), ..launching(&manifest)?.options()? };
    observer.note(&format!("recording a start of {command}"));
    let recorder = PlanRecorder { command: &command, options: &options, strategy: strategy(&manifest), make_cold };
    let recorded = record_as(&recorder, manifest.body.recording.exact)
        .map_err(|error| error.within(format!("cannot refresh `{shown}`")))?;
    for note in &recorded.notes {
        observer.note(note);
    }
    let bytes = recorded.plan.to_bytes().context("cannot write the new plan")?;
    outcome.bytes = recorded.plan.steps.iter().filter_map(|step| step.pages).map(|pages| pages.length()).sum();
    outcome.predicted_start_seconds = recorded.plan.summary.predicted_start.as_secs_f64();
    if needs_new_places(&manifest) {
        let request = request(name, located, manifest, Start::Plan(bytes))?;
        let installed = install(&request, observer)?;
        outcome.places_written = true;
        outcome.afterwards = installed.places.into_iter().filter_map(|place| place.afterwards).collect();
    } else {
        let packages = told(of_plan(&bytes), observer);
        update_plan(&located.registry, name, &bytes, packages.as_deref(), now(), env!("CARGO_PKG_VERSION"))?;
    }
    Ok(outcome)
}

/// Makes the image again beside the one in use, and exchanges them.
fn refresh_image(
    name: &OsStr,
    located: &Located,
    manifest: Manifest,
    mut outcome: RefreshOutcome,
    make_cold: MakeCold,
    observer: &dyn Observer,
) -> Result<RefreshOutcome, AppError> {
    let failed = |error: AppError| error.within(format!("cannot refresh `{}`", printable(std::path::Path::new(name))));
    let Some(record) = &manifest.body.image else { return Ok(outcome) };
    let installation = located.registry.installation(name)?;
    let command = command(&manifest);
    observer.note(&format!("making the image of {command} again"));
    let launching = launching(&manifest)?;
    let directory = working_directory(&manifest);
    let image = make_again(record, &installation, command.clone(), launching, directory, make_cold, observer);
    let image = image.map_err(failed)?;
    let read = image.read(&command)?;
    (outcome.bytes, outcome.image_bytes) = (read.record.read_bytes, Some(read.record.bytes));
    if needs_new_places(&manifest) {
        let installed = install(&request(name, located, manifest, Start::Image(image))?, observer)?;
        outcome.places_written = true;
        outcome.afterwards = installed.places.into_iter().filter_map(|place| place.afterwards).collect();
        return Ok(outcome);
    }
    let packages = told(of_files(&read.files()), observer);
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
}

/// The installation as it was asked for, with the new plan or image.
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
    };
    Ok(InstallRequest {
        program,
        name: Some(name.to_owned()),
        plan,
        image,
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
