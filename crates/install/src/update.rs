//! Parts of a complete installation exchanged: changed files, the plan, the image, the index.
//!
//! Each is exchanged as a whole, so that a program which starts meanwhile sees the old or the new one; the manifest follows.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::error::InstallError;
use crate::file::{flush_parent, write_new};
use crate::index_files::exchange_index;
use crate::lock::Lock;
use crate::manifest::{ChangedFile, ImageRecord, IndexRecord, InstallationState, Manifest};
use crate::registry::{Installation, Registry};
use crate::replacer::Replacer;
use crate::shared;
use crate::transaction::{remove_if_there, unmount};

/// Records which files of an installation are still replaced.
///
/// # Errors
/// If there is none of this name, or it is half-made.
pub fn update_changed_files(
    registry: &Registry,
    name: &OsStr,
    files: Vec<ChangedFile>,
) -> Result<Manifest, InstallError> {
    let (installation, _lock, mut manifest) = opened(registry, name)?;
    manifest.body.changed_files = files;
    installation.write_manifest(&manifest)?;
    Ok(manifest)
}

/// A complete installation, locked for a change.
fn opened(registry: &Registry, name: &OsStr) -> Result<(Installation, Lock, Manifest), InstallError> {
    let installation = registry.installation(name)?;
    let not_installed = || InstallError::NotInstalled { name: name.to_owned() };
    if !installation.directory().exists() {
        return Err(not_installed());
    }
    let lock = registry.lock()?;
    let manifest = registry.read(name)?.ok_or_else(not_installed)?;
    match manifest.state {
        InstallationState::Installed => Ok((installation, lock, manifest)),
        _ => {
            let reason = "it is half-made".to_owned();
            Err(InstallError::Manifest { path: installation.manifest(), reason })
        }
    }
}

/// Replaces the plan of an installation, and the packages that its files came from, if they are known. Programs that start
/// meanwhile see the old or the new one.
///
/// # Errors
/// If there is none of this name, it is half-made, or the plan cannot be written.
pub fn update_plan(
    registry: &Registry,
    name: &OsStr,
    plan: &[u8],
    packages: Option<&[u8]>,
    recorded_at: i64,
    coldstart: &str,
) -> Result<Manifest, InstallError> {
    let (installation, _lock, mut manifest) = opened(registry, name)?;
    // Killed between both, the old packages would be taken for those of the new plan.
    remove_if_there(&installation.packages())?;
    write_new(&installation.plan(), plan, 0o644)?;
    if let Some(packages) = packages {
        write_new(&installation.packages(), packages, 0o644)?;
    }
    manifest.body.recorded_at = recorded_at;
    manifest.body.coldstart = coldstart.to_owned();
    installation.write_manifest(&manifest)?;
    Ok(manifest)
}

/// Puts the image at [`Installation::new_image`] in place of the one of an installation. Programs that were started from the old one go
/// on with it; it is unmounted, and the caller mounts the new one.
///
/// # Errors
/// If there is none of this name, it is half-made, or the image cannot be put in place.
pub fn update_image(
    registry: &Registry,
    name: &OsStr,
    image: ImageRecord,
    packages: Option<&[u8]>,
    now: i64,
    coldstart: &str,
    replacer: &dyn Replacer,
) -> Result<Manifest, InstallError> {
    let (installation, _lock, mut manifest) = opened(registry, name)?;
    // First, by the UUID that is on record. Killed behind this, it is known as not mounted.
    unmount(&manifest, &shared::others(registry, name)?, replacer)?;
    remove_if_there(&installation.packages())?;
    let (new, path) = (installation.new_image(), installation.image());
    std::fs::set_permissions(&new, Permissions::from_mode(0o644)).map_err(InstallError::io("prepare", &new))?;
    std::fs::rename(&new, &path).map_err(InstallError::io("put the new image at", &path))?;
    flush_parent(&path);
    if let Some(packages) = packages {
        write_new(&installation.packages(), packages, 0o644)?;
    }
    manifest.body.image = Some(image);
    manifest.body.recorded_at = now;
    manifest.body.coldstart = coldstart.to_owned();
    installation.write_manifest(&manifest)?;
    Ok(manifest)
}

/// Puts the index at [`Installation::new_index`] in place of the one of an installation. Programs that use the old one have read it, or go on
/// without.
///
/// # Errors
/// If there is none of this name, it is half-made, or the index cannot be put in place.
pub fn update_index(
    registry: &Registry,
    name: &OsStr,
    index: IndexRecord,
    packages: Option<&[u8]>,
    now: i64,
    coldstart: &str,
) -> Result<Manifest, InstallError> {
    let (installation, _lock, mut manifest) = opened(registry, name)?;
    remove_if_there(&installation.packages())?;
    exchange_index(&installation)?;
    if let Some(packages) = packages {
        write_new(&installation.packages(), packages, 0o644)?;
    }
    manifest.body.index = Some(index);
    manifest.body.recorded_at = now;
    manifest.body.coldstart = coldstart.to_owned();
    installation.write_manifest(&manifest)?;
    Ok(manifest)
}
