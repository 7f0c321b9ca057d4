//! All installations of a system or a user: a directory for each, named as the installation.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::error::InstallError;
use crate::file::{create_directories, read_regular, write_new};
use crate::lock::Lock;
use crate::manifest::Manifest;

/// The manifest, in the directory of an installation.
pub const MANIFEST: &str = "manifest.json";
/// The plan, in the directory of an installation.
pub const PLAN: &str = "plan.prefetch";
/// The start image, in the directory of an installation.
pub const IMAGE: &str = "start.erofs";
/// A new start image until it takes the place of [`IMAGE`].
const NEW_IMAGE: &str = "new.erofs";
/// The index of modules, in the directory of an installation.
pub const INDEX: &str = "index";
/// A new index until it takes the place of [`INDEX`].
const NEW_INDEX: &str = "new.index";
/// The packages that the plan's files came from, in the directory of an installation.
pub const PACKAGES: &str = "packages.json";
/// The script that places start the program with, in the directory of an installation.
pub const STARTER: &str = "start";
/// Copies of files that stood at the places.
const BEFORE: &str = "before";
/// The longest name, in bytes: it is also that of files, with an ending.
const LONGEST_NAME: usize = 200;

/// The installations of a system or a user.
#[derive(Clone, Debug)]
pub struct Registry {
    directory: PathBuf,
}

/// An installation that was found.
#[derive(Debug)]
pub struct Found {
    /// Its name.
    pub name: OsString,
    /// Its manifest, or why that cannot be read; `None` for a directory without one, which holds nothing.
    pub manifest: Option<Result<Manifest, InstallError>>,
}

/// The paths of an installation.
#[derive(Clone, Debug)]
pub struct Installation {
    directory: PathBuf,
}

impl Installation {
    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its manifest.
    pub fn manifest(&self) -> PathBuf {
        self.directory.join(MANIFEST)
    }

    /// Its plan.
    pub fn plan(&self) -> PathBuf {
        self.directory.join(PLAN)
    }

    /// Its start image.
    pub fn image(&self) -> PathBuf {
        self.directory.join(IMAGE)
    }

    /// Where a new start image is made, before [`crate::update_image`] puts it in place.
    pub fn new_image(&self) -> PathBuf {
        self.directory.join(NEW_IMAGE)
    }

    /// Its index of modules, a directory.
    pub fn index(&self) -> PathBuf {
        self.directory.join(INDEX)
    }

    /// Where a new index is made, before [`crate::update_index`] puts it in place.
    pub fn new_index(&self) -> PathBuf {
        self.directory.join(NEW_INDEX)
    }

    /// The packages that the plan's files came from.
    pub fn packages(&self) -> PathBuf {
        self.directory.join(PACKAGES)
    }

    /// The script that places start the program with.
    pub fn starter(&self) -> PathBuf {
        self.directory.join(STARTER)
    }

    /// Wrappers that only a module puts on the path.
    pub fn wrappers(&self) -> PathBuf {
        self.directory.join("bin")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.directory.join(BEFORE)
    }

    pub(crate) fn write_manifest(&self, manifest: &Manifest) -> Result<(), InstallError> {
        let path = self.manifest();
        let bytes = manifest
            .to_bytes()
            .map_err(|error| InstallError::Manifest { path: path.clone(), reason: error.to_string() })?;
        write_new(&path, &bytes, 0o644)
    }
}

impl Registry {
    /// The registry in this directory, which need not exist.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The paths of an installation.
    ///
    /// # Errors
    /// If the name cannot be that of an installation.
    pub fn installation(&self, name: &OsStr) -> Result<Installation, InstallError> {
        let bytes = name.as_bytes();
        let fits =
            !bytes.is_empty() && bytes.len() <= LONGEST_NAME && !bytes.contains(&b'/') && !bytes.starts_with(b".");
        match fits {
            true => Ok(Installation { directory: self.directory.join(name) }),
            false => Err(InstallError::Name { name: name.to_owned() }),
        }
    }

    /// All installations, by name. A registry that does not exist has none.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Found>, InstallError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(InstallError::io("list", &self.directory)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(InstallError::io("list", &self.directory))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && self.installation(&entry.file_name()).is_ok() {
                names.push(entry.file_name());
            }
        }
        names.sort();
        Ok(names.into_iter().map(|name| Found { manifest: self.read(&name).transpose(), name }).collect())
    }

    /// The manifest of an installation; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it is damaged, or of a later version.
    pub fn read(&self, name: &OsStr) -> Result<Option<Manifest>, InstallError> {
        let path = self.installation(name)?.manifest();
        match read_regular(&path) {
            Ok(bytes) => Manifest::from_bytes(&path, &bytes).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(InstallError::io("read", &path)(error)),
        }
    }

    /// Creates the registry if need be, and locks it for changes.
    pub(crate) fn lock(&self) -> Result<Lock, InstallError> {
        let missing: Vec<PathBuf> =
            self.directory.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        create_directories(&missing.into_iter().rev().collect::<Vec<_>>())?;
        // Its manifests say which files are removed and written: root must not believe those of a user.
        let owner = std::fs::metadata(&self.directory).map_err(InstallError::io("read", &self.directory))?.uid();
        if owner != geteuid().as_raw() {
            return Err(InstallError::OfAnotherUser { registry: self.directory.clone(), owner });
        }
        Lock::take(&self.directory)
    }
}
