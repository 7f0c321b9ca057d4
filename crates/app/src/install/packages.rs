//! The packages that a plan's files come from: recorded with the plan, compared when it is stale.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Context;
use coldstart_install::{Installation, PackageFiles, PlanPackages, Stored};
use coldstart_packages::{Owner, owners_of, version_change, versions_of};
use coldstart_profile::plan::{PlanView, TargetKind};
use serde::Serialize;

use super::health::StaleFile;
use crate::error::AppError;

/// A package that has changed since a plan was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedPackage {
    /// As the package manager names it: `libc6:amd64`.
    pub package: String,
    /// Its version when the plan was recorded.
    pub before: String,
    /// Its version now; `None` if it was removed.
    pub now: Option<String>,
}

impl std::fmt::Display for ChangedPackage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let before = Owner { package: self.package.clone(), version: self.before.clone() };
        formatter.write_str(&version_change(&before, self.now.as_deref()).unwrap_or_default())
    }
}

/// The packages of a plan's files, and of others.
///
/// # Errors
/// If the package manager does not answer.
pub(super) fn of_plan(plan: &[u8], others: &[&Path]) -> Result<Vec<u8>, AppError> {
    let view = PlanView::read(plan).context("the plan is invalid")?;
    let targets = (0_u32..).map_while(|number| view.target(number));
    let files: Vec<&Path> =
        targets.filter(|(_, kind)| matches!(kind, TargetKind::File(_))).map(|(path, _)| path).collect();
    let new = others.iter().filter(|other| !files.contains(other));
    of_files(&[files.clone(), new.copied().collect()].concat())
}

/// What is kept beside a plan, an image or an index: the packages of its files, by one question to the package manager.
///
/// # Errors
/// If the package manager does not answer.
pub(super) fn of_files(files: &[&Path]) -> Result<Vec<u8>, AppError> {
    let owners = owners_of(Path::new("/"), files)?;
    let mut packages: BTreeMap<(String, String), Vec<Stored>> = BTreeMap::new();
    for file in files {
        if let Some(owner) = owners.get(*file) {
            packages.entry((owner.package.clone(), owner.version.clone())).or_default().push(Stored::from(*file));
        }
    }
    let packages = packages.into_iter().map(|((package, version), files)| PackageFiles { package, version, files });
    Ok(PlanPackages::new(packages.collect()).to_bytes()?)
}

/// The versions of packages now. Most package managers tell those of all at once, so many stale plans cost one question.
#[derive(Debug, Default)]
pub(super) struct VersionsNow {
    known: RefCell<HashMap<String, Option<String>>>,
}

impl VersionsNow {
    /// The packages that changed, of the stale files of an installation. Files that a package still has in the same version were
    /// changed by somebody else. Nothing is known without a record, or if the package manager does not answer.
    pub(super) fn changed(&self, installation: &Installation, files: &mut [StaleFile]) -> Vec<ChangedPackage> {
        let mut changed: Vec<ChangedPackage> = Vec::new();
        let Ok(Some(recorded)) = PlanPackages::read(&installation.packages()) else { return changed };
        self.learn(&recorded);
        let known = self.known.borrow();
        for file in files {
            let Some(then) = recorded.of(file.path.path()) else { continue };
            let Some(now) = known.get(&then.package) else { continue };
            if now.as_ref() == Some(&then.version) {
                continue;
            }
            let package =
                ChangedPackage { package: then.package.clone(), before: then.version.clone(), now: now.clone() };
            if !changed.contains(&package) {
                changed.push(package.clone());
            }
            file.package = Some(package);
        }
        changed
    }

    fn learn(&self, recorded: &PlanPackages) {
        let mut known = self.known.borrow_mut();
        let names: Vec<&str> = recorded.packages.iter().map(|package| &*package.package).collect();
        if names.iter().all(|name| known.contains_key(*name)) {
            return;
        }
        let Ok(versions) = versions_of(Path::new("/"), &names) else { return };
        known.extend(versions.into_iter().map(|(package, version)| (package, Some(version))));
        for name in names {
            // Not installed any more.
            known.entry(name.to_owned()).or_insert(None);
        }
    }
}
