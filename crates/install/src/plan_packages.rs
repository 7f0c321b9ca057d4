//! The packages that the files of a plan came from when it was recorded, so that a stale plan can name the one that changed.
//!
//! A file of its own beside the plan, because the manifests of all installations are read often, and this only if one is stale.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::InstallError;
use crate::file::read_regular;
use coldstart_output::Stored;

/// The name and version of the format.
pub const PACKAGES_SCHEMA: &str = "coldstart.installed-packages/1";

/// The packages of a plan's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPackages {
    /// [`PACKAGES_SCHEMA`].
    pub schema: String,
    /// Each package once.
    pub packages: Vec<PackageFiles>,
}

/// A package, and the files of the plan that it owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFiles {
    /// As the package manager names it: `libc6:amd64`.
    pub package: String,
    /// Its version then.
    pub version: String,
    /// Files of the plan.
    pub files: Vec<Stored>,
}

impl PlanPackages {
    /// Of these packages.
    pub fn new(packages: Vec<PackageFiles>) -> Self {
        Self { schema: PACKAGES_SCHEMA.to_owned(), packages }
    }

    /// As text.
    ///
    /// # Errors
    /// None that is known: there are no numbers in it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads them; `None` if there are none, as beside a plan that an earlier version installed.
    ///
    /// # Errors
    /// If the file is damaged, or of another version.
    pub fn read(path: &Path) -> Result<Option<Self>, InstallError> {
        let damaged = |reason: String| InstallError::Manifest { path: path.to_owned(), reason };
        let bytes = match read_regular(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(InstallError::io("read", path)(error)),
        };
        let packages: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        match packages.schema == PACKAGES_SCHEMA {
            true => Ok(Some(packages)),
            false => Err(InstallError::NewerManifest { path: PathBuf::from(path), schema: packages.schema }),
        }
    }

    /// The package of a file, with its version then.
    pub fn of(&self, file: &Path) -> Option<&PackageFiles> {
        self.packages.iter().find(|package| package.files.iter().any(|owned| owned.path() == file))
    }
}
