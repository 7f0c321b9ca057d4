//! Install, undo, repair: the order in which files are written.
//!
//! Each write is whole or not at all, and flushed before the next. Install: the manifest as `installing`, copies of what stands
//! at the places, the plan or the image, the index, the starter, replaced files, the places, the manifest as `installed`. Undo: the manifest as
//! `uninstalling`, then the same backwards, the manifest last. So a place is only there while what it starts is there, and
//! each intermediate state names every file that may have been touched.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_output::remove_leftovers;

use crate::error::InstallError;
use crate::file::{
    FileState, PlannedFile, back_up, copy_new, create_directories, is_marked, prepare, read_regular, remove_empty,
    restore, sha256, write, write_new,
};
use crate::index_files::{IndexFile, put_index, remove_tree_if_there};
use crate::manifest::{InstallationState, MOUNT, Manifest, NewManifest, PlaceRecord, SCHEMA, Source};
use crate::registry::{Installation, Registry};
use crate::replacer::Replacer;
use crate::shared::{self, PlannedShared, Released};
use coldstart_output::Stored;

/// A place as planned.
#[derive(Clone, Debug, Default)]
pub struct DraftPlace {
    /// As it was asked for.
    pub place: std::ffi::OsString,
    /// The files to be written.
    pub files: Vec<PlannedFile>,
    /// The files to be written unless another installation has.
    pub shared: Vec<PlannedShared>,
    /// The program that a unit of this place starts, if that is not the launcher.
    pub starts: Option<PathBuf>,
    /// The files that they were made from.
    pub sources: Vec<PathBuf>,
    /// What the user has to do after the place is written or undone.
    pub afterwards: Option<String>,
    /// What the user has to do after it is undone, if that is something else.
    pub after_undoing: Option<String>,
}

/// An installation as planned. `body.places` is filled in by [`install`].
#[derive(Clone, Debug)]
pub struct Draft {
    /// All but places.
    pub body: NewManifest,
    /// The plan; `None` if there is an image, only an index, or only files are replaced.
    pub plan: Option<Vec<u8>>,
    /// A start image that is copied; it may lose its name meanwhile. `body.image` describes it.
    pub image: Option<Arc<File>>,
    /// The files of an index, which are copied likewise. `body.index` describes it.
    pub index: Vec<IndexFile>,
    /// The script that places start the program with, and other files within the installation's own directory.
    pub own_files: Vec<PlannedFile>,
    /// The places.
    pub places: Vec<DraftPlace>,
}

/// What became of the files of an installation that was undone.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// Restored or removed.
    pub restored: Vec<PathBuf>,
    /// Edited since, and left as they are. They may start the program through us, so the installation stays until they are gone.
    pub edited: Vec<PathBuf>,
    /// Replaced since by files that are not ours, and left as they are.
    pub foreign: Vec<PathBuf>,
    /// What the user has to do now.
    pub afterwards: Vec<String>,
}

impl Undone {
    /// Whether the installation is gone.
    pub fn is_complete(&self) -> bool {
        self.edited.is_empty()
    }
}

/// What a repair did to an installation.
#[derive(Clone, Debug)]
pub enum Repaired {
    /// Nothing: it is complete.
    Whole,
    /// An interrupted installation was undone.
    RolledBack(Undone),
    /// An interrupted removal was completed.
    Completed(Undone),
    /// An empty directory was removed.
    Empty,
}

/// Installs. An installation of the same program under this name is undone first.
///
/// # Errors
/// If something cannot be written, or belongs to another installation or to somebody else. Then nothing is installed.
pub fn install(
    registry: &Registry,
    name: &OsStr,
    draft: impl FnOnce(&Installation) -> Result<Draft, InstallError>,
    replacer: &dyn Replacer,
    program: &Path,
) -> Result<Manifest, InstallError> {
    let installation = registry.installation(name)?;
    let _lock = registry.lock()?;
    if let Some(earlier) = registry.read(name)? {
        let other = earlier.body.program.path.path();
        if other != program {
            return Err(InstallError::NameInUse { name: name.to_owned(), program: other.to_owned() });
        }
        let undone = undo(registry, &installation, earlier, replacer, false)?;
        if let Some(path) = undone.edited.into_iter().next() {
            return Err(InstallError::Refused {
                place: format!("`{}`", coldstart_profile::printable(&path)),
                reason: "it was edited after the earlier installation wrote it".to_owned(),
                hint: Some("move it away, or remove it with `coldstart installed NAME --uninstall --force`".to_owned()),
            });
        }
    }
    let draft = draft(&installation)?;
    let manifest = planned(registry, name, &draft)?;
    create_directories(&[installation.directory().to_owned()])?;
    let installed = Manifest { state: InstallationState::Installed, ..manifest.clone() };
    let written = installation
        .write_manifest(&manifest)
        .and_then(|()| put(registry, &installation, &draft, &manifest, replacer))
        .and_then(|()| installation.write_manifest(&installed));
    let Err(error) = written else { return Ok(installed) };
    // As after a kill. What is on disk may already say `installed`: a rename can succeed and its flush fail.
    let state = registry.read(name).ok().flatten().map_or(InstallationState::Installing, |found| found.state);
    match undo(registry, &installation, Manifest { state, ..manifest }, replacer, false) {
        Ok(_) => Err(error),
        Err(undoing) => Err(InstallError::NotUndone { error: Box::new(error), undoing: Box::new(undoing) }),
    }
}

/// The manifest, with what stands at each path now.
fn planned(registry: &Registry, name: &OsStr, draft: &Draft) -> Result<Manifest, InstallError> {
    let mut owners: HashMap<PathBuf, std::ffi::OsString> = HashMap::new();
    let others = shared::others(registry, name)?;
    for (other, manifest) in &others {
        for file in manifest.files() {
            owners.insert(file.path.path().to_owned(), other.clone());
        }
    }
    let mut places = Vec::new();
    let mut number = 0_usize;
    for place in &draft.places {
        let mut files = Vec::new();
        for planned in &place.files {
            if let Some(owner) = owners.get(&planned.path) {
                return Err(InstallError::PlaceInUse { path: planned.path.clone(), name: owner.clone() });
            }
            owners.insert(planned.path.clone(), name.to_owned());
            files.push(prepare(planned, number.to_string())?);
            number = number.saturating_add(1);
        }
        let mut sources = Vec::new();
        for path in &place.sources {
            let bytes = read_source(path)?;
            sources.push(Source { path: Stored::from(path.as_path()), sha256: sha256(&bytes) });
        }
        let shared = place.shared.iter().map(|planned| shared::prepare(planned, &others)).collect::<Result<_, _>>()?;
        places.push(PlaceRecord {
            place: Stored::new(place.place.clone()),
            files,
            shared,
            starts: place.starts.as_deref().map(Stored::from),
            sources,
            afterwards: place.afterwards.clone(),
            after_undoing: place.after_undoing.clone(),
        });
    }
    let body = NewManifest { places, has_plan: draft.plan.is_some(), ..draft.body.clone() };
    let (schema, name) = (SCHEMA.to_owned(), Stored::new(name));
    Ok(Manifest { schema, name, state: InstallationState::Installing, body })
}

/// A source may be a link, as units often are.
fn read_source(path: &Path) -> Result<Vec<u8>, InstallError> {
    let real = path.canonicalize().map_err(InstallError::io("read", path))?;
    read_regular(&real).map_err(InstallError::io("read", path))
}

/// Writes everything between the two manifests.
fn put(
    registry: &Registry,
    installation: &Installation,
    draft: &Draft,
    manifest: &Manifest,
    replacer: &dyn Replacer,
) -> Result<(), InstallError> {
    for file in manifest.files() {
        back_up(file, &installation.backups())?;
    }
    if let Some(plan) = &draft.plan {
        write_new(&installation.plan(), plan, 0o644)?;
    }
    if let Some(image) = &draft.image {
        copy_new(image, &installation.image(), 0o644)?;
    }
    put_index(&draft.index, installation)?;
    for file in &draft.own_files {
        if let Some(directory) = file.path.parent().filter(|directory| *directory != installation.directory()) {
            create_directories(&[directory.to_owned()])?;
        }
        write_new(&file.path, &file.bytes, file.mode)?;
    }
    for file in &manifest.body.changed_files {
        replacer.replace(file)?;
    }
    let planned = draft.places.iter().flat_map(|place| &place.files);
    for (file, planned) in manifest.files().zip(planned) {
        write(file, &planned.bytes)?;
    }
    put_shared(registry, draft, manifest)
}

fn put_shared(registry: &Registry, draft: &Draft, manifest: &Manifest) -> Result<(), InstallError> {
    let written: Vec<_> = manifest.shared_files().cloned().collect();
    if written.is_empty() {
        return Ok(());
    }
    let planned = draft.places.iter().flat_map(|place| &place.shared);
    for (file, planned) in written.iter().zip(planned) {
        shared::write(file, planned)?;
    }
    shared::adopt(registry, &shared::others(registry, manifest.name.word())?, &written)
}

/// Undoes an installation: what stood at each place is restored byte for byte. Edited files stay, and with them the
/// installation, unless `force`.
///
/// # Errors
/// If there is none of this name, or something cannot be restored; it can then be repeated.
pub fn uninstall(
    registry: &Registry,
    name: &OsStr,
    replacer: &dyn Replacer,
    force: bool,
) -> Result<Undone, InstallError> {
    let installation = registry.installation(name)?;
    if !installation.directory().exists() {
        return Err(InstallError::NotInstalled { name: name.to_owned() });
    }
    let _lock = registry.lock()?;
    let Some(manifest) = registry.read(name)? else {
        return Err(InstallError::NotInstalled { name: name.to_owned() });
    };
    undo(registry, &installation, manifest, replacer, force)
}

fn undo(
    registry: &Registry,
    installation: &Installation,
    manifest: Manifest,
    replacer: &dyn Replacer,
    force: bool,
) -> Result<Undone, InstallError> {
    // Undoing from `installing` leads to the same end. On a full disk, too, it must be possible to remove something.
    let manifest = match manifest.state {
        InstallationState::Installing => manifest,
        InstallationState::Installed | InstallationState::Uninstalling => {
            let manifest = Manifest { state: InstallationState::Uninstalling, ..manifest };
            match installation.write_manifest(&manifest) {
                Err(InstallError::Io { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull => {}
                written => written?,
            }
            manifest
        }
    };
    let mut undone = Undone::default();
    let others = match manifest.shared_files().next() {
        Some(_) => shared::others(registry, manifest.name.word())?,
        None => Vec::new(),
    };
    for place in manifest.body.places.iter().rev() {
        let mut is_still_there = false;
        for file in place.shared.iter().rev() {
            let path = file.path.path().to_owned();
            match shared::release(registry, &others, file, force)? {
                Released::Removed => undone.restored.push(path),
                Released::Gone => {}
                Released::Shared => is_still_there = true,
                Released::Edited => undone.edited.push(path),
                Released::Foreign => undone.foreign.push(path),
            }
        }
        for file in place.files.iter().rev() {
            match restore(file, &installation.backups(), force)? {
                FileState::Edited if !force => {
                    let is_ours = read_regular(file.path.path()).is_ok_and(|bytes| is_marked(&bytes));
                    let list = if is_ours { &mut undone.edited } else { &mut undone.foreign };
                    list.push(file.path.path().to_owned());
                }
                FileState::Ours | FileState::Edited => undone.restored.push(file.path.path().to_owned()),
                FileState::Before | FileState::Missing => {}
            }
        }
        let command = place.after_undoing.as_ref().or(place.afterwards.as_ref()).filter(|_| !is_still_there);
        undone.afterwards.extend(command.filter(|command| !undone.afterwards.contains(command)).cloned());
    }
    unmount(&manifest, &others, replacer)?;
    for file in manifest.body.changed_files.iter().rev() {
        replacer.restore(file)?;
        undone.restored.push(file.path.path().to_owned());
    }
    if undone.edited.is_empty() {
        remove_own_files(installation)?;
        return Ok(undone);
    }
    // The edited files may still start the program through our starter, so that stays, and they stay recorded.
    let mut left = manifest;
    for place in &mut left.body.places {
        place.files.retain(|file| undone.edited.contains(&file.path.path().to_owned()));
        place.shared.retain(|file| undone.edited.contains(&file.path.path().to_owned()));
    }
    left.body.places.retain(|place| !place.files.is_empty() || !place.shared.is_empty());
    left.body.changed_files.clear();
    installation.write_manifest(&Manifest { state: InstallationState::Installed, ..left })?;
    Ok(undone)
}

/// Unmounts the image that all users start from, unless another installation has the same. Programs that were started from it go on.
pub(crate) fn unmount(
    manifest: &Manifest,
    others: &[(std::ffi::OsString, Manifest)],
    replacer: &dyn Replacer,
) -> Result<(), InstallError> {
    let mounted = |manifest: &Manifest| {
        let image = manifest.body.image.as_ref().filter(|_| manifest.has_place(MOUNT));
        image.map(|image| image.uuid.clone())
    };
    match mounted(manifest) {
        Some(uuid) if !others.iter().any(|(_, other)| mounted(other).as_ref() == Some(&uuid)) => {
            replacer.unmount(&uuid)
        }
        _ => Ok(()),
    }
}

/// Removes the installation's directory, the manifest last.
fn remove_own_files(installation: &Installation) -> Result<(), InstallError> {
    for directory in [installation.backups(), installation.wrappers(), installation.new_index(), installation.index()] {
        remove_tree_if_there(&directory)?;
    }
    let image = [installation.new_image(), installation.image()];
    let others = [installation.starter(), installation.packages(), installation.plan(), installation.manifest()];
    for file in image.iter().chain(&others) {
        remove_if_there(file)?;
    }
    let _ = remove_leftovers(installation.directory());
    remove_empty(installation.directory());
    Ok(())
}

pub(crate) fn remove_if_there(file: &Path) -> Result<(), InstallError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(InstallError::io("remove", file)(error)),
        _ => Ok(()),
    }
}

/// Undoes an interrupted installation, and completes an interrupted removal.
///
/// # Errors
/// If there is none of this name, its manifest cannot be read, or something cannot be restored.
pub fn repair(registry: &Registry, name: &OsStr, replacer: &dyn Replacer) -> Result<Repaired, InstallError> {
    let installation = registry.installation(name)?;
    if !installation.directory().exists() {
        return Err(InstallError::NotInstalled { name: name.to_owned() });
    }
    let _lock = registry.lock()?;
    let Some(manifest) = registry.read(name)? else {
        remove_own_files(&installation)?;
        return Ok(Repaired::Empty);
    };
    let _ = remove_leftovers(installation.directory());
    Ok(match manifest.state {
        InstallationState::Installed => {
            // Of an interrupted refresh.
            remove_if_there(&installation.new_image())?;
            remove_tree_if_there(&installation.new_index())?;
            Repaired::Whole
        }
        InstallationState::Installing => {
            Repaired::RolledBack(undo(registry, &installation, manifest, replacer, false)?)
        }
        InstallationState::Uninstalling => {
            Repaired::Completed(undo(registry, &installation, manifest, replacer, false)?)
        }
    })
}
