//! The file that tells a directory of links from any other directory.

use std::path::{Path, PathBuf};
use std::{fs, io};

use coldstart_sys::named_file::read_regular;
use serde::{Deserialize, Serialize};

use super::{FarmError, FarmPlan};
use crate::{BoundLink, Mode};

/// Name of the marker in a directory of links.
pub const MARKER_NAME: &str = ".coldstart-farm";
/// The largest marker that is read, in bytes; a link takes some hundred.
const LARGEST: u64 = 64 << 20;

/// What made a directory of links, for which program, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Version of this form.
    pub(super) version: u32,
    /// The release of coldstart that made it.
    pub(super) coldstart: String,
    pub(super) mode: Mode,
    /// The bound program.
    pub(super) program: PathBuf,
    /// Where the directory was made; none in directories of earlier releases.
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

    /// Reads the marker of a directory; none when it is no directory of links.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, FarmError> {
        let path = directory.join(MARKER_NAME);
        // A link would lead to another directory's marker.
        let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST);
        if !is_file {
            return Ok(None);
        }
        let text = read_regular(&path, LARGEST).map_err(FarmError::system("read", &path))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Whether the directory is this program's: made for it, or moved or copied here together with it. The program that a copy
    /// was made for follows the links in the first directory, as long as that is there.
    pub(super) fn is_for(&self, program: &Path, directory: &Path) -> bool {
        let is_copy = || {
            let made_at = self.directory.as_deref().filter(|made_at| *made_at != directory);
            made_at.is_some_and(|made_at| made_at.join(MARKER_NAME).exists())
        };
        self.program == program || !self.program.exists() || is_copy()
    }

    /// The first thing in a directory that is none of the marker's links, level directories, or the marker itself.
    pub(super) fn foreign_in(&self, directory: &Path) -> Result<Option<PathBuf>, FarmError> {
        Ok(self.contents(directory)?.foreign)
    }

    /// Removes a directory with the links that the marker lists and nothing else; the marker last, so that a directory in which
    /// it is missing holds nothing of ours. The directory stays when others have put something into it.
    pub(super) fn remove(&self, directory: &Path) -> Result<(), FarmError> {
        let contents = self.contents(directory)?;
        if let Some(foreign) = contents.foreign {
            return Err(FarmError::Foreign(foreign));
        }
        for link in contents.links {
            fs::remove_file(&link).map_err(FarmError::system("remove", &link))?;
        }
        // Each directory was found before those in it.
        for level in contents.directories.iter().rev() {
            fs::remove_dir(level).map_err(FarmError::system("remove", level))?;
        }
        let marker = directory.join(MARKER_NAME);
        match fs::remove_file(&marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FarmError::system("remove", &marker)(error)),
            _ => fs::remove_dir(directory).map_err(FarmError::system("remove", directory)),
        }
    }

    /// What is in a directory. It is looked for there and not taken from the marker, whose paths might lead out of it.
    fn contents(&self, directory: &Path) -> Result<Contents, FarmError> {
        let mut contents = Contents::default();
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let here = directory.join(&below);
            let entries = fs::read_dir(&here).map_err(FarmError::system("read", &here))?;
            for entry in entries {
                let entry = entry.map_err(FarmError::system("read", &here))?;
                let inside = below.join(entry.file_name());
                let kind = entry.file_type().map_err(FarmError::system("read", &here))?;
                if kind.is_dir() && self.links.iter().any(|link| Path::new(&link.path).starts_with(&inside)) {
                    contents.directories.push(entry.path());
                    open.push(inside);
                } else if kind.is_symlink() && self.has_link(&inside, &entry.path()) {
                    contents.links.push(entry.path());
                } else if !(kind.is_file() && inside == Path::new(MARKER_NAME)) {
                    contents.foreign = Some(entry.path());
                    return Ok(contents);
                }
            }
        }
        Ok(contents)
    }

    /// Whether a link is one of the marker's, and leads where it was made to lead.
    fn has_link(&self, inside: &Path, path: &Path) -> bool {
        let link = self.links.iter().find(|link| Path::new(&link.path) == inside);
        let target = || fs::read_link(path).ok();
        link.is_some_and(|link| target().is_some_and(|target| target.as_os_str() == link.target.as_str()))
    }
}

/// What is in a directory of links.
#[derive(Debug, Default)]
struct Contents {
    /// The marker's links.
    links: Vec<PathBuf>,
    /// Directories of levels, each before those in it.
    directories: Vec<PathBuf>,
    /// The first that is neither, nor the marker.
    foreign: Option<PathBuf>,
}
