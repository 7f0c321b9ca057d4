//! The file that tells a folder of links from any other folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FarmError, FarmPlan};
use crate::{BoundLink, Mode};

/// Name of the marker in a folder of links.
pub const MARKER_NAME: &str = ".coldstart-farm";
/// The largest marker that is read, in bytes; a link takes some hundred.
const LARGEST: u64 = 64 << 20;

/// What made a folder of links, for which program, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Version of this form.
    pub(super) version: u32,
    /// The release of coldstart that made it.
    pub(super) coldstart: String,
    pub(super) mode: Mode,
    /// The bound program.
    pub(super) program: PathBuf,
    /// Where the folder was made; none in folders of earlier releases.
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

    /// Reads the marker of a folder; none when it is no folder of links.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, FarmError> {
        let path = directory.join(MARKER_NAME);
        // A link would lead to another folder's marker.
        let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST);
        if !is_file {
            return Ok(None);
        }
        let text = std::fs::read(&path).map_err(FarmError::system("read", &path))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Whether the folder is this program's: made for it, or moved or copied here together with it. The program that a copy
    /// was made for follows the links in the first folder, as long as that is there.
    pub(super) fn is_for(&self, program: &Path, directory: &Path) -> bool {
        let is_copy = || {
            let made_at = self.directory.as_deref().filter(|made_at| *made_at != directory);
            made_at.is_some_and(|made_at| made_at.join(MARKER_NAME).exists())
        };
        self.program == program || !self.program.exists() || is_copy()
    }

    /// The first thing in a folder that is none of the marker's links, level folders, or the marker itself.
    pub(super) fn foreign_in(&self, directory: &Path) -> Result<Option<PathBuf>, FarmError> {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let here = directory.join(&folder);
            let entries = std::fs::read_dir(&here).map_err(FarmError::system("read", &here))?;
            for entry in entries {
                let entry = entry.map_err(FarmError::system("read", &here))?;
                let inside = folder.join(entry.file_name());
                let kind = entry.file_type().map_err(FarmError::system("read", &here))?;
                if kind.is_dir() && self.links.iter().any(|link| Path::new(&link.path).starts_with(&inside)) {
                    folders.push(inside);
                } else if !self.is_ours(&inside, &entry.path(), kind.is_symlink()) {
                    return Ok(Some(entry.path()));
                }
            }
        }
        Ok(None)
    }

    fn is_ours(&self, inside: &Path, path: &Path, is_link: bool) -> bool {
        if inside == Path::new(MARKER_NAME) {
            return true;
        }
        let link = self.links.iter().find(|link| Path::new(&link.path) == inside);
        let target = || std::fs::read_link(path).ok();
        is_link && link.is_some_and(|link| target().is_some_and(|target| target.as_os_str() == link.target.as_str()))
    }
}
