//! Whether installations still do what they were made for, and what to do about those that do not.

use std::ffi::{OsStr, OsString};

use coldstart_install::{
    FileState, Found, ImageRecord, IndexRecord, Installation, InstallationState, Manifest, Registry, ReplacedState,
    Replacer, Scope, Stored, kind_of_place,
};
use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::plan::PlanView;
use coldstart_profile::printable;
use rustix::fs::{Access, access};
use serde::Serialize;

use super::changed::FileReplacer;
use super::image::{self, InstalledImage};
use super::index::{self, InstalledIndex};
use super::packages::{ChangedPackage, VersionsNow};
use super::registries::{command, every_scope};
use crate::error::AppError;
use crate::prefetch::{read_plan, stale_reason};
use crate::text::{counted, counted_are, plain};

/// Whether an installation does what it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It does.
    Fresh,
    /// Files have changed since it was recorded; these are not prefetched.
    Stale,
    /// It has no effect, or not at all its places. The program starts without it.
    Broken,
}

/// All installations.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// One after the other, by scope and name.
    pub installations: Vec<InstallationReport>,
}

impl Listing {
    /// The worst of all; fresh if there is none.
    pub fn health(&self) -> Health {
        self.installations.iter().map(|report| report.health).max().unwrap_or(Health::Fresh)
    }
}

/// An installation, and how it is.
#[derive(Clone, Debug, Serialize)]
pub struct InstallationReport {
    /// Its name.
    pub name: Stored,
    /// For whom it is.
    pub scope: Scope,
    /// How it is.
    pub health: Health,
    /// Why it is not fresh, one clause each.
    pub reasons: Vec<String>,
    /// What to do about it: a command.
    pub next_step: Option<String>,
    /// The same as a word.
    pub remedy: Option<Remedy>,
    /// The program; `None` if the manifest cannot be read, as all that follows.
    pub program: Option<Stored>,
    /// The arguments of the recorded start.
    pub arguments: Vec<Stored>,
    /// When it was installed: seconds since 1970-01-01 UTC.
    pub installed_at: Option<i64>,
    /// When it was last recorded, likewise.
    pub recorded_at: Option<i64>,
    /// Names of the fixes in use.
    pub fixes: Vec<String>,
    /// Where it is installed.
    pub places: Vec<PlaceReport>,
    /// Files of the program that are replaced by changed ones.
    pub replaced_files: Vec<Stored>,
    /// The image that it is started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<InstalledImage>,
    /// The index of modules that it is started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<InstalledIndex>,
    /// Files of the plan, originals of the image, or directories and sources of the index, that have changed or are missing.
    pub stale_files: Vec<StaleFile>,
    /// Packages of these files that have changed since.
    pub changed_packages: Vec<ChangedPackage>,
}

/// What makes an installation fresh again, or removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// `--refresh`.
    Refresh,
    /// `--repair`.
    Repair,
    /// `--uninstall`.
    Uninstall,
}

impl Remedy {
    fn option(self) -> &'static str {
        match self {
            Self::Refresh => "--refresh",
            Self::Repair => "--repair",
            Self::Uninstall => "--uninstall",
        }
    }
}

/// A place of an installation.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceReport {
    /// As it was asked for.
    pub place: Stored,
    /// Its files, and what stands there now.
    pub files: Vec<(Stored, FileState)>,
}

/// A file that has changed since it was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct StaleFile {
    /// The file.
    pub path: Stored,
    /// What has changed, as a clause.
    pub reason: String,
    /// The package that changed it, if one did.
    pub package: Option<ChangedPackage>,
}

/// Lists all installations that this user can see, or that of this name. Nothing is changed.
///
/// # Errors
/// If the directories cannot be read, or nothing of this name is installed.
pub fn list(name: Option<&OsStr>, only_user: bool) -> Result<Listing, AppError> {
    let mut installations = Vec::new();
    let versions = VersionsNow::default();
    for directories in every_scope(only_user)? {
        let registry = Registry::new(&directories.registry);
        for found in registry.list()? {
            if name.is_none_or(|name| name == found.name) {
                installations.push(report_on(&registry, found, directories.scope, &versions)?);
            }
        }
    }
    match name {
        Some(name) if installations.is_empty() => {
            Err(coldstart_install::InstallError::NotInstalled { name: name.to_owned() }.into())
        }
        _ => Ok(Listing { installations }),
    }
}

/// Those with a place of this kind, as "login"; all for `None`.
pub fn installations_with(listing: Listing, place: Option<&str>) -> Listing {
    let has_it = |report: &InstallationReport| {
        place.is_none_or(|kind| report.places.iter().any(|place| kind_of_place(&place.place) == kind.as_bytes()))
    };
    Listing { installations: listing.installations.into_iter().filter(has_it).collect() }
}

/// Examines an installation.
///
/// # Errors
/// If its name is not that of an installation.
fn report_on(
    registry: &Registry,
    found: Found,
    scope: Scope,
    versions: &VersionsNow,
) -> Result<InstallationReport, AppError> {
    let installation = registry.installation(&found.name)?;
    let mut report = InstallationReport {
        name: Stored::new(found.name.clone()),
        scope,
        health: Health::Fresh,
        reasons: Vec::new(),
        next_step: None,
        remedy: None,
        program: None,
        arguments: Vec::new(),
        installed_at: None,
        recorded_at: None,
        fixes: Vec::new(),
        places: Vec::new(),
        replaced_files: Vec::new(),
        image: None,
        index: None,
        stale_files: Vec::new(),
        changed_packages: Vec::new(),
    };
    let mut judge = Judge { report: &mut report, name: found.name, scope, versions };
    match found.manifest {
        None => judge.broken("its installation was interrupted".to_owned(), Remedy::Repair),
        Some(Err(error)) => judge.broken(AppError::from(error).sentence(), Remedy::Repair),
        Some(Ok(manifest)) => judge.judge(&manifest, &installation),
    }
    Ok(report)
}

struct Judge<'a> {
    report: &'a mut InstallationReport,
    name: OsString,
    scope: Scope,
    versions: &'a VersionsNow,
}

impl Judge<'_> {
    fn advise(&mut self, remedy: Remedy) {
        self.report.next_step = Some(command(&self.name, remedy.option(), self.scope));
        self.report.remedy = Some(remedy);
    }

    fn broken(&mut self, reason: String, remedy: Remedy) {
        // The first reason that makes it broken says what to do.
        if self.report.health != Health::Broken {
            self.advise(remedy);
        }
        self.report.health = Health::Broken;
        self.report.reasons.push(reason);
    }

    fn stale(&mut self, reason: String) {
        if self.report.health == Health::Fresh {
            self.report.health = Health::Stale;
            self.advise(Remedy::Refresh);
        }
        self.report.reasons.push(reason);
    }

    fn judge(&mut self, manifest: &Manifest, installation: &Installation) {
        let body = &manifest.body;
        self.report.program = Some(body.program.path.clone());
        self.report.arguments.clone_from(&body.program.arguments);
        self.report.installed_at = Some(body.installed_at);
        self.report.recorded_at = Some(body.recorded_at);
        self.report.fixes = body.fixes.iter().map(|fix| fix.fix.clone()).collect();
        self.report.replaced_files = body.changed_files.iter().map(|file| file.path.clone()).collect();
        let states = |place: &coldstart_install::PlaceRecord| PlaceReport {
            place: place.place.clone(),
            files: {
                let own = place.files.iter().map(|file| (file.path.clone(), file.state()));
                own.chain(place.shared.iter().map(|file| (file.path.clone(), file.state()))).collect()
            },
        };
        self.report.places = body.places.iter().map(states).collect();
        match manifest.state {
            InstallationState::Installed => {}
            InstallationState::Installing => {
                return self.broken("its installation was interrupted".to_owned(), Remedy::Repair);
            }
            InstallationState::Uninstalling => {
                return self.broken("its removal was interrupted".to_owned(), Remedy::Repair);
            }
        }
        let program = body.program.path.path();
        if !program.is_file() {
            self.broken(format!("the program `{}` is gone", printable(program)), Remedy::Uninstall);
        }
        self.judge_places(manifest);
        if manifest.has_launcher() {
            let launcher = body.launcher.file.path();
            if !launcher.is_file() || access(launcher, Access::EXEC_OK).is_err() {
                let shown = printable(launcher);
                self.broken(format!("the launcher `{shown}` is gone or cannot be executed"), Remedy::Refresh);
            }
            match &body.image {
                Some(image) => self.judge_image(manifest, image, installation),
                None if body.has_plan => self.judge_plan(installation),
                None => {}
            }
            if let Some(index) = &body.index {
                self.judge_index(index, installation);
            }
        }
        for file in &body.changed_files {
            let path = printable(file.path.path());
            match FileReplacer.state(file) {
                ReplacedState::Replaced => {}
                ReplacedState::Original => self.stale(format!("`{path}` is the original again")),
                ReplacedState::Changed(reason) => self.stale(format!("`{path}`: {reason}")),
            }
        }
    }

    fn judge_places(&mut self, manifest: &Manifest) {
        for file in manifest.files() {
            let path = printable(file.path.path());
            match file.state() {
                FileState::Ours => {}
                FileState::Before if file.before.is_some() => {
                    self.broken(format!("`{path}` is what it was before the installation"), Remedy::Refresh);
                }
                FileState::Before | FileState::Missing => self.broken(format!("`{path}` is gone"), Remedy::Refresh),
                FileState::Edited => {
                    self.broken(format!("`{path}` was edited after the installation"), Remedy::Uninstall)
                }
            }
        }
        for place in &manifest.body.places {
            for file in &place.shared {
                let path = printable(file.path.path());
                match file.state() {
                    FileState::Ours => {}
                    FileState::Before | FileState::Missing => self.broken(format!("`{path}` is gone"), Remedy::Refresh),
                    FileState::Edited => {
                        self.broken(format!("`{path}` was edited after the installation"), Remedy::Uninstall);
                    }
                }
            }
            if let Some(starts) = place.starts.as_ref().filter(|starts| !starts.path().is_file()) {
                let (program, place) = (printable(starts.path()), printable(place.place.path()));
                self.broken(format!("`{program}`, which the place `{place}` starts, is gone"), Remedy::Refresh);
            }
        }
        for source in manifest.body.places.iter().flat_map(|place| &place.sources) {
            if !source.is_unchanged() {
                let path = printable(source.path.path());
                self.stale(format!("`{path}`, from which a place was made, has changed"));
            }
        }
    }

    /// Names the packages that made it stale, and keeps its stale files. Before the files: a table shows the first reason only.
    fn judge_packages(&mut self, installation: &Installation, mut stale_files: Vec<StaleFile>) {
        const MOST: usize = 3;
        if stale_files.is_empty() {
            return;
        }
        let mut changed = self.versions.changed(installation, &mut stale_files);
        self.report.stale_files.extend(stale_files);
        changed.retain(|package| !self.report.changed_packages.contains(package));
        let mut named: Vec<String> = changed.iter().take(MOST).map(ToString::to_string).collect();
        if let Some(more) = changed.len().checked_sub(MOST).filter(|more| *more > 0) {
            named.push(format!("{} changed, too", plain(&counted(more as u64, "more package"))));
        }
        if !named.is_empty() {
            self.stale(named.join(", "));
        }
        self.report.changed_packages.extend(changed);
    }

    fn judge_plan(&mut self, installation: &Installation) {
        let path = installation.plan();
        let bytes = match read_plan(&path) {
            Ok(bytes) => bytes,
            Err(error) => return self.broken(error.sentence(), Remedy::Refresh),
        };
        let plan = match PlanView::read(&bytes) {
            Ok(plan) => plan,
            Err(error) => return self.broken(format!("the plan cannot be used: {error}"), Remedy::Refresh),
        };
        let mut stale_files = Vec::new();
        for (number, outcome) in (0_u32..).zip(check_targets(&plan)) {
            if matches!(outcome, TargetOutcome::Changed { .. } | TargetOutcome::Missing)
                && let Some((target, _)) = plan.target(number)
            {
                let reason = stale_reason(outcome).to_string();
                stale_files.push(StaleFile { path: Stored::from(target), reason, package: None });
            }
        }
        let reason = stale_files.first().map(|first| {
            let are = plain(&counted_are(stale_files.len() as u64, "file"));
            format!("{are} changed or missing, the first: `{}`", printable(first.path.path()))
        });
        self.judge_packages(installation, stale_files);
        reason.into_iter().for_each(|reason| self.stale(reason));
    }

    fn judge_image(&mut self, manifest: &Manifest, record: &ImageRecord, installation: &Installation) {
        self.report.image = Some(InstalledImage::of(record, installation));
        let (changed, count) = match image::changed(record, installation) {
            Ok(found) => found,
            Err(error) => return self.broken(error.sentence(), Remedy::Refresh),
        };
        if image::is_unmounted(manifest) {
            self.broken("the image is not mounted, so that only root's starts use it".to_owned(), Remedy::Repair);
        }
        let stale = changed.iter().map(|(path, left)| StaleFile {
            path: Stored::from(path.as_path()),
            reason: left.words().to_owned(),
            package: None,
        });
        let stale_files: Vec<StaleFile> = stale.collect();
        let reason = stale_files.first().map(|first| {
            let are = plain(&counted_are(stale_files.len() as u64, "original"));
            let first = printable(first.path.path());
            format!("{are} changed or missing, of {count}, and used instead of the copy, the first: `{first}`")
        });
        self.judge_packages(installation, stale_files);
        reason.into_iter().for_each(|reason| self.stale(reason));
    }

    fn judge_index(&mut self, record: &IndexRecord, installation: &Installation) {
        self.report.index = Some(InstalledIndex::of(record, installation));
        let (changed, interpreters) = match index::changed(installation) {
            Ok(found) => found,
            Err(error) => return self.broken(error.sentence(), Remedy::Refresh),
        };
        for interpreter in interpreters {
            let interpreter = printable(&interpreter);
            self.stale(format!("`{interpreter}`, the interpreter that the index was made for, is gone"));
        }
        let stale = changed.iter().map(|found| StaleFile {
            path: Stored::from(found.path.as_path()),
            reason: found.change.words().to_owned(),
            package: None,
        });
        let stale_files: Vec<StaleFile> = stale.collect();
        let reason = stale_files.first().map(|first| {
            let differ = plain(&counted(stale_files.len() as u64, "path"));
            let (first, how) = (printable(first.path.path()), &first.reason);
            format!("{differ} of the index changed, which the interpreter searches itself, the first: `{first}` {how}")
        });
        self.judge_packages(installation, stale_files);
        reason.into_iter().for_each(|reason| self.stale(reason));
    }
}
