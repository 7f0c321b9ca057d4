//! Files that several installations write alike: the first one that wants such a file writes it, the last one removes it.
//!
//! Nobody counts: who wants a file is read from the manifests of all installations, under the lock of the registry. So a kill at
//! any moment leaves no wrong count. Such a file is only ours: what others put at its path is refused, never replaced.
//!
//! Not obvious: a later version of coldstart may write another content. Then the digest in the other manifests is brought up to date
//! ([`adopt`]), before the manifest that brought the new content says that it is installed, or goes away.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use coldstart_output::remove_leftovers;
use coldstart_profile::printable;
use serde::{Deserialize, Serialize};

use crate::error::InstallError;
use crate::file::{
    FileState, Standing, create_directories, flush_parent, is_marked, look, missing_directories, remove, remove_empty,
    sha256, write_new,
};
use crate::manifest::{Manifest, PlaceRecord};
use crate::registry::Registry;
use coldstart_output::Stored;

/// A shared file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedShared {
    /// Its absolute path.
    pub path: PathBuf,
    /// What it is.
    pub content: PlannedContent,
}

/// The content of a [`PlannedShared`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedContent {
    /// A regular file, readable by all.
    File(Vec<u8>),
    /// A symbolic link to this.
    Link(PathBuf),
}

/// A shared file as the manifest of each installation that wants it records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    /// Its absolute path.
    pub path: Stored,
    /// What it is.
    #[serde(flatten)]
    pub content: SharedContent,
    /// Directories that did not exist before the first installation wrote it, the outermost first.
    pub created_directories: Vec<Stored>,
}

/// The content of a [`SharedFile`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SharedContent {
    /// A regular file.
    File {
        /// Its SHA-256 digest, hexadecimal.
        sha256: String,
    },
    /// A symbolic link.
    Link {
        /// What it contains.
        target: Stored,
    },
}

impl SharedFile {
    /// What stands at its path now; [`FileState::Before`] for nothing.
    pub fn state(&self) -> FileState {
        match content_of(self.path.path()) {
            Ok(None) => FileState::Before,
            Ok(Some(content)) if content == self.content => FileState::Ours,
            _ => FileState::Edited,
        }
    }
}

impl PlannedShared {
    fn content(&self) -> SharedContent {
        match &self.content {
            PlannedContent::File(bytes) => SharedContent::File { sha256: sha256(bytes) },
            PlannedContent::Link(target) => SharedContent::Link { target: Stored::from(target.as_path()) },
        }
    }
}

/// What stands at a path; `None` for nothing.
fn content_of(path: &Path) -> Result<Option<SharedContent>, InstallError> {
    match look(path)? {
        Standing::Nothing => Ok(None),
        Standing::Link(target) => Ok(Some(SharedContent::Link { target })),
        Standing::File { bytes, .. } => Ok(Some(SharedContent::File { sha256: sha256(&bytes) })),
        Standing::Other => Err(InstallError::Special { path: path.to_owned() }),
    }
}

/// The manifests of all other installations that can be read.
pub(crate) fn others(registry: &Registry, name: &OsStr) -> Result<Vec<(OsString, Manifest)>, InstallError> {
    let found = registry.list()?.into_iter().filter(|found| found.name != name);
    Ok(found.filter_map(|found| Some((found.name, found.manifest?.ok()?))).collect())
}

/// The records of a path in these manifests.
fn sharing<'a>(others: &'a [(OsString, Manifest)], path: &'a Path) -> impl Iterator<Item = &'a SharedFile> {
    let files = others.iter().flat_map(|(_, manifest)| manifest.shared_files());
    files.filter(move |file| file.path.path() == path)
}

/// The record of a file that is to be written. Nothing is changed.
pub(crate) fn prepare(planned: &PlannedShared, others: &[(OsString, Manifest)]) -> Result<SharedFile, InstallError> {
    let path = &planned.path;
    let content = planned.content();
    let standing = content_of(path)?;
    let mut created_directories = missing_directories(path);
    for sharer in sharing(others, path) {
        // Whoever is the last removes what the first has made.
        let new = sharer.created_directories.iter().filter(|made| !created_directories.contains(made));
        created_directories = new.cloned().chain(created_directories.clone()).collect();
    }
    created_directories.sort_by_key(|directory| directory.path().components().count());
    if let Some(standing) = standing {
        let is_ours = standing == content || sharing(others, path).any(|sharer| sharer.content == standing);
        if !is_ours {
            return Err(InstallError::refused(
                format!("`{}`", printable(path)),
                "something else stands there, or it was edited",
                Some("move it away; changes of a unit belong into a drop-in, as `systemctl edit` makes one"),
            ));
        }
    }
    Ok(SharedFile { path: Stored::from(path.as_path()), content, created_directories })
}

/// Writes a file over what was found by [`prepare`].
pub(crate) fn write(file: &SharedFile, planned: &PlannedShared) -> Result<(), InstallError> {
    let path = file.path.path();
    create_directories(&file.created_directories.iter().map(|made| made.path().to_owned()).collect::<Vec<_>>())?;
    match (&planned.content, file.state()) {
        (_, FileState::Ours) => Ok(()),
        (PlannedContent::File(bytes), _) => write_new(path, bytes, 0o644),
        (PlannedContent::Link(target), FileState::Before) => {
            symlink(target, path).map_err(InstallError::io("create the link", path))?;
            flush_parent(path);
            Ok(())
        }
        (PlannedContent::Link(_), _) => Err(InstallError::ChangedMeanwhile { path: path.to_owned() }),
    }
}

/// Has the manifests of the others record what this one has written.
pub(crate) fn adopt(
    registry: &Registry,
    others: &[(OsString, Manifest)],
    written: &[SharedFile],
) -> Result<(), InstallError> {
    for (name, manifest) in others {
        let mut updated = manifest.clone();
        for file in updated.body.places.iter_mut().flat_map(|place| &mut place.shared) {
            if let Some(new) = written.iter().find(|new| new.path == file.path) {
                file.content = new.content.clone();
            }
        }
        if updated != *manifest {
            registry.installation(name)?.write_manifest(&updated)?;
        }
    }
    Ok(())
}

/// What became of a shared file of an installation that goes away.
pub(crate) enum Released {
    /// Removed.
    Removed,
    /// It was gone already.
    Gone,
    /// Others want it.
    Shared,
    /// Edited since by somebody who kept our mark.
    Edited,
    /// Not ours any more.
    Foreign,
}

/// Removes a file, unless others want it. An edited file stays; `force` counts it as ours.
pub(crate) fn release(
    registry: &Registry,
    others: &[(OsString, Manifest)],
    file: &SharedFile,
    force: bool,
) -> Result<Released, InstallError> {
    let path = file.path.path();
    let state = file.state();
    if sharing(others, path).next().is_some() {
        if state == FileState::Ours {
            adopt(registry, others, std::slice::from_ref(file))?;
        }
        return Ok(Released::Shared);
    }
    if let Some(directory) = path.parent() {
        let _ = remove_leftovers(directory);
    }
    match state {
        FileState::Edited if !force => {
            let is_marked = matches!(look(path), Ok(Standing::File { bytes, .. }) if is_marked(&bytes));
            return Ok(if is_marked { Released::Edited } else { Released::Foreign });
        }
        FileState::Ours | FileState::Edited => remove(path)?,
        FileState::Before | FileState::Missing => {}
    }
    let released = if state == FileState::Before { Released::Gone } else { Released::Removed };
    for directory in file.created_directories.iter().rev() {
        remove_empty(directory.path());
    }
    Ok(released)
}

/// Whether the shared files of a place lie there as recorded, or as somebody edited them.
pub(crate) fn are_there(place: &PlaceRecord) -> bool {
    place.shared.iter().all(|file| matches!(file.state(), FileState::Ours | FileState::Edited))
}
