//! The record of a replaced file: written before anything is changed, so that a kill can be repaired.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_output::{StagedFile, Stored, flush_directory};
use serde::{Deserialize, Serialize};

use super::files::Identity;
use crate::error::PackageError;
use crate::owner::Owner;

/// The version of the form below.
const SCHEMA: &str = "coldstart.replaced-file/1";
/// The ending of a record's name.
const ENDING: &str = "replaced.json";

/// How far a replacement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Begun.
    Applying,
    /// In place.
    Applied,
    /// Being taken back.
    Undoing,
}

/// What a refresh is about to put in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) original: String,
    pub(super) changed: String,
    pub(super) owner: Option<Owner>,
}

/// All that is known of a replaced file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) schema: String,
    /// The path inside the root, as the package manager knows it.
    pub(super) file: Stored,
    /// Where the original is.
    pub(super) kept: Stored,
    /// Whether dpkg was told.
    pub(super) diverted: bool,
    /// The package when this was recorded.
    pub(super) owner: Option<Owner>,
    /// BLAKE3 of the original.
    pub(super) original: String,
    /// BLAKE3 of the file that replaces it.
    pub(super) changed: String,
    pub(super) phase: Phase,
    pub(super) pending: Option<Pending>,
    /// The original when the file was last replaced.
    #[serde(default)]
    pub(super) identity: Option<Identity>,
}

impl Record {
    pub(super) fn new(file: &Path, kept: &Path, diverted: bool, owner: Option<Owner>, digests: [String; 2]) -> Self {
        let [original, changed] = digests;
        let (file, kept) = (Stored::from(file), Stored::from(kept));
        let schema = SCHEMA.to_owned();
        Self {
            schema,
            file,
            kept,
            diverted,
            owner,
            original,
            changed,
            phase: Phase::Applying,
            pending: None,
            identity: None,
        }
    }

    /// Its path in the directory of records: one for each replaced file.
    pub(super) fn path_in(&self, records: &Path) -> PathBuf {
        let digest = blake3::hash(self.file.path().as_os_str().as_bytes()).to_hex();
        records.join(format!("{}.{ENDING}", digest.get(..32).unwrap_or_default()))
    }

    pub(super) fn write(&self, records: &Path) -> Result<(), PackageError> {
        let path = self.path_in(records);
        self.write_to(records, &path).map_err(PackageError::io("write", &path))
    }

    fn write_to(&self, records: &Path, path: &Path) -> io::Result<()> {
        let mut staged = StagedFile::create(records, path.file_name().unwrap_or_default(), 0o644)?;
        staged.file().write_all(&serde_json::to_vec_pretty(self)?)?;
        staged.file().sync_all()?;
        staged.name_over(path)?;
        flush_directory(records, staged.file())
    }

    pub(super) fn remove(&self, records: &Path) -> Result<(), PackageError> {
        let path = self.path_in(records);
        std::fs::remove_file(&path).map_err(PackageError::io("remove", &path))?;
        File::open(records).and_then(|open| open.sync_all()).map_err(PackageError::io("flush", records))
    }

    fn read(path: &Path) -> Result<Self, PackageError> {
        let bytes = std::fs::read(path).map_err(PackageError::io("read", path))?;
        let damaged = |message: String| PackageError::Record { path: path.to_owned(), message };
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        match record.schema == SCHEMA {
            true => Ok(record),
            false => Err(damaged(format!("its form is `{}`, this program reads `{SCHEMA}`", record.schema))),
        }
    }

    /// All records of a directory, in the order of their names; none if it does not exist.
    pub(super) fn all(records: &Path) -> Result<Vec<Self>, PackageError> {
        let mut paths = Vec::new();
        match std::fs::read_dir(records) {
            Ok(entries) => {
                for entry in entries {
                    paths.push(entry.map_err(PackageError::io("list", records))?.path());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(PackageError::io("list", records)(error)),
        }
        // Names of ours are ASCII; a file that is just being written begins with a dot.
        let is_record = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_bytes();
            name.ends_with(ENDING.as_bytes()) && !name.starts_with(b".")
        };
        paths.retain(is_record);
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }
}
