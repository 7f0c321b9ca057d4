//! What is recorded of a replaced file besides its path and edits.

use std::path::{Path, PathBuf};

use coldstart_install::{ChangedFile, Directories, InstallError, Stored};
use coldstart_packages::{PackageError, Replacement, recorded};
use serde::{Deserialize, Serialize};

/// `details` of a changed file in a manifest (`docs/formats/installed.md`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Details {
    /// The directory of records of replaced files.
    pub(super) records: Stored,
    /// The directory of all installations that may share the file.
    pub(super) registry: Stored,
    /// The directory of the installation.
    pub(super) installation: Stored,
    /// The directory of links of a bound program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<Stored>,
    /// Names of the entries of a zip file, or of the files of an AppImage, in the order that they are put into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) order: Vec<Stored>,
}

impl Details {
    /// Those of a changed file.
    ///
    /// # Errors
    /// If the manifest has none, or damaged ones.
    pub(super) fn of(file: &ChangedFile) -> Result<Self, InstallError> {
        let damaged = |reason: String| InstallError::Replacer {
            doing: "find the record of",
            path: file.path.path().to_owned(),
            reason,
        };
        let details = file.details.clone().ok_or_else(|| damaged("the manifest says nothing of it".to_owned()))?;
        serde_json::from_value(details).map_err(|error| damaged(error.to_string()))
    }

    /// The record of the file, if it is replaced.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(super) fn replacement(&self, file: &Path) -> Result<Option<Replacement>, PackageError> {
        let wanted = real(file);
        let all = recorded(Path::new("/"), self.records.path())?;
        Ok(all.into_iter().find(|replacement| real(&replacement.file()) == wanted))
    }
}

/// Where replaced files of a scope are recorded: beside the installations.
pub(crate) fn records_of(directories: &Directories) -> PathBuf {
    directories.registry.with_file_name("replaced")
}

/// The path with links in its directory resolved: dpkg may know a file in `/usr/lib` as one in `/lib`.
pub(super) fn real(file: &Path) -> PathBuf {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { return file.to_owned() };
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned()).join(name)
}
