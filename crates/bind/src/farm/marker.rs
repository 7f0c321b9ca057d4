//! The marker file that identifies a link directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use coldstart_output::HeldDirectory;
use coldstart_sys::named_file::read_regular;
use serde::{Deserialize, Serialize};

use super::{FarmError, FarmPlan};
use crate::{BoundLink, Mode};

/// Name of the marker in a link directory.
pub const MARKER_NAME: &str = ".coldstart-farm";
/// The largest marker that is read, in bytes; a link takes a few hundred.
const LARGEST: u64 = 64 << 20;

/// The contents of a link directory, the program it is for, and the release that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Format version.
    pub(super) version: u32,
    /// The release of coldstart that wrote it.
    pub(super) coldstart: String,
    pub(super) mode: Mode,
    /// The bound program.
    pub(super) program: PathBuf,
    /// The path where the directory was written; none in directories of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<PathBuf>,
    pub(super) links: Vec<BoundLink>,
}

impl Marker {
    pub(super) fn of(plan: &FarmPlan, directory: &Path) -> Self {
        Self {
            version: 1,
            coldstart: env!("CARGO_PKG_VERSION").to_owned(),
            mode: Mode::Soname,
            program: plan.program.clone(),
            directory: Some(directory.to_owned()),
            links: plan.bound().links,
        }
    }

    /// Reads the marker of a directory; none if it is not a link directory.
    pub(super) fn read(directory: &HeldDirectory) -> Result<Option<Self>, FarmError> {
        let path = directory.sure().join(MARKER_NAME);
        // A symbolic link could point to another directory's marker.
        let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST);
        if !is_file {
            return Ok(None);
        }
        let text = read_regular(&path, LARGEST);
        let text = text.map_err(FarmError::system("read", &directory.real().join(MARKER_NAME)))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Whether the directory belongs to this program: made for it, or moved or copied together with it. The original
    /// of a copied program uses the links in the first directory, as long as that exists.
    pub(super) fn is_for(&self, program: &Path, directory: &Path) -> bool {
        self.program == program || self.came_along(directory)
    }

    /// Whether a directory was moved together with its program, or copied: the program that it was written for is gone, or the
    /// directory where it was written is still there.
    fn came_along(&self, directory: &Path) -> bool {
        let is_copy = || {
            let made_at = self.directory.as_deref().filter(|made_at| *made_at != directory);
            made_at.is_some_and(|made_at| made_at.join(MARKER_NAME).exists())
        };
        !self.program.exists() || is_copy()
    }

    /// Whether a directory with a temporary name of `farm` was left by a run for this program: here, or where both were before they
    /// were moved or copied together. Its name alone is no proof, so names of such a program and its directory have to be the same.
    pub(super) fn is_left_of(&self, program: &Path, farm: &Path) -> bool {
        let Some(made_at) = self.directory.as_deref() else { return false };
        let has_same_names =
            || self.program.file_name() == program.file_name() && made_at.file_name() == farm.file_name();
        (self.program == program && made_at == farm) || (has_same_names() && self.came_along(farm))
    }

    /// The first entry other than the marker's links, level directories and the marker itself.
    pub(super) fn foreign_in(&self, directory: &HeldDirectory) -> Result<Option<PathBuf>, FarmError> {
        Ok(self.contents(directory)?.foreign)
    }

    /// Removes only the links that the marker lists; the marker last, so that a directory without it contains nothing of ours.
    /// All stays if others have added files.
    pub(super) fn remove_links(&self, directory: &HeldDirectory) -> Result<(), FarmError> {
        let contents = self.contents(directory)?;
        if let Some(foreign) = contents.foreign {
            return Err(FarmError::Foreign(foreign));
        }
        for (above, name) in contents.links {
            fs::remove_file(above.sure().join(&name))
                .map_err(FarmError::system("remove", &above.real().join(&name)))?;
        }
        // Parents come before their subdirectories.
        for (above, name) in contents.directories.iter().rev() {
            fs::remove_dir(above.sure().join(name)).map_err(FarmError::system("remove", &above.real().join(name)))?;
        }
        match fs::remove_file(directory.sure().join(MARKER_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FarmError::system("remove", &directory.real().join(MARKER_NAME))(error))
            }
            _ => Ok(()),
        }
    }

    /// The contents of a directory, listed and not taken from the marker, whose paths might leave the directory. Each level is held
    /// open: no other user can put a link in its place.
    fn contents(&self, directory: &HeldDirectory) -> Result<Contents, FarmError> {
        let mut contents = Contents::default();
        let mut open = vec![(PathBuf::new(), directory.clone())];
        while let Some((below, here)) = open.pop() {
            let failed = |error| FarmError::system("read", here.real())(error);
            let entries = fs::read_dir(here.sure()).map_err(failed)?;
            for entry in entries {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name();
                let inside = below.join(&name);
                let kind = entry.file_type().map_err(failed)?;
                if kind.is_dir() && self.links.iter().any(|link| Path::new(&link.path).starts_with(&inside)) {
                    open.push((inside, here.inside(&name).map_err(failed)?));
                    contents.directories.push((here.clone(), name));
                } else if kind.is_symlink() && self.has_link(&inside, &entry.path()) {
                    contents.links.push((here.clone(), name));
                } else if !(kind.is_file() && inside == Path::new(MARKER_NAME)) {
                    contents.foreign = Some(here.real().join(name));
                    return Ok(contents);
                }
            }
        }
        Ok(contents)
    }

    /// Whether a link is one of the marker's and has its original target.
    fn has_link(&self, inside: &Path, path: &Path) -> bool {
        let link = self.links.iter().find(|link| Path::new(&link.path) == inside);
        let target = || fs::read_link(path).ok();
        link.is_some_and(|link| target().is_some_and(|target| target.as_os_str() == link.target.as_str()))
    }
}

/// The contents of a link directory, by the directory that they are in, and name.
#[derive(Debug, Default)]
struct Contents {
    /// The marker's links.
    links: Vec<(HeldDirectory, OsString)>,
    /// Level directories, parents first.
    directories: Vec<(HeldDirectory, OsString)>,
    /// The path of the first other entry, except the marker.
    foreign: Option<PathBuf>,
}
