//! What all processes of one survey agree on: what is surveyed, by which version, in how many shards.

use std::io::Write;
use std::path::Path;

use coldstart_output::StagedFile;
use serde::{Deserialize, Serialize};

use crate::error::SurveyError;
use crate::source::Source;

/// Its name in the survey's directory.
pub const MANIFEST: &str = "survey.json";
const FORMAT: &str = "coldstart survey";
/// A manifest is larger only if somebody wrote it for us.
const LARGEST: u64 = 16 << 20;
/// Files in one shard, about; and bytes of archives, which take longer than plain files.
const FILES: u64 = 4096;
const ARCHIVE_BYTES: u64 = 256 << 20;
/// More shards than this only make more files.
const MOST_SHARDS: u64 = 4096;

/// The content of `survey.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the file is.
    pub format: String,
    /// The version of the tables' schemas.
    pub schema: u32,
    /// The version of coldstart: results of different versions do not go together.
    pub coldstart: String,
    /// What is surveyed.
    pub sources: Vec<ManifestSource>,
    /// In how many shards.
    pub shards: u32,
}

/// What manifests of all versions have.
#[derive(Debug, Deserialize)]
struct Edition {
    format: String,
    schema: u32,
}

/// A source, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestSource {
    /// As the user named it.
    pub name: String,
    /// Its kind, in words.
    pub kind: String,
}

impl Manifest {
    pub(crate) fn of(sources: &[Source], files: u64, archive_bytes: u64) -> Self {
        let shards = files.div_ceil(FILES).max(archive_bytes.div_ceil(ARCHIVE_BYTES)).clamp(1, MOST_SHARDS);
        let sources = sources
            .iter()
            .map(|source| ManifestSource { name: source.name.clone(), kind: source.kind.name().to_owned() });
        Self {
            format: FORMAT.to_owned(),
            schema: coldstart_tables::VERSION,
            coldstart: env!("CARGO_PKG_VERSION").to_owned(),
            sources: sources.collect(),
            shards: shards as u32,
        }
    }

    /// Reads the manifest of a survey.
    ///
    /// # Errors
    /// If there is none, or it is of another version.
    pub fn read(directory: &Path) -> Result<Self, SurveyError> {
        let path = directory.join(MANIFEST);
        let bytes = coldstart_sys::named_file::read_regular(&path, LARGEST).map_err(SurveyError::io("read", &path))?;
        let refused = |reason: String, hint| SurveyError::Directory { path: directory.to_owned(), reason, hint };
        let damaged = |error: serde_json::Error| {
            refused(format!("`{MANIFEST}` is damaged: {error}"), "remove the directory, or name a new one")
        };
        // Alone and first: the manifest of another schema may have other fields.
        let edition: Edition = serde_json::from_slice(&bytes).map_err(damaged)?;
        if edition.format != FORMAT || edition.schema != coldstart_tables::VERSION {
            let reason = format!(
                "its survey has schema {}, and this version writes schema {}",
                edition.schema,
                coldstart_tables::VERSION
            );
            return Err(refused(reason, "name a new directory, or read it with the version that wrote it"));
        }
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// Writes it, unless another process has done so; then that one's counts if it agrees.
    pub(crate) fn agree(self, directory: &Path) -> Result<Self, SurveyError> {
        let path = directory.join(MANIFEST);
        if !path.try_exists().map_err(SurveyError::io("read", &path))? {
            let written = (|| {
                let mut staged = StagedFile::create(directory, MANIFEST.as_ref(), 0o644)?;
                let mut text = serde_json::to_vec_pretty(&self)?;
                text.push(b'\n');
                staged.file().write_all(&text)?;
                staged.name_new(&path)
            })();
            match written {
                Ok(()) => return Ok(self),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SurveyError::io("write", &path)(error)),
            }
        }
        let other = Self::read(directory)?;
        let refused = |reason: String, hint| SurveyError::Directory { path: directory.to_owned(), reason, hint };
        if other.coldstart != self.coldstart {
            let reason = format!("coldstart {} began its survey, and this is {}", other.coldstart, self.coldstart);
            return Err(refused(reason, "use the same version on all machines, or name a new directory"));
        }
        if other.sources != self.sources {
            let names: Vec<&str> = other.sources.iter().map(|source| source.name.as_str()).collect();
            return Err(refused(
                format!("it holds a survey of {}", names.join(", ")),
                "name the same things in the same order, or a new directory",
            ));
        }
        Ok(other)
    }
}
