//! The record of an installation, as it is on disk. Format: `docs/formats/installed.md`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::InstallError;
use crate::file::{FileState, WrittenFile, read_regular, sha256};
use crate::shared::{self, SharedFile};
use coldstart_output::Stored;

/// The kind of a place at which an image is mounted for all users, as `--place` names it.
pub const MOUNT: &str = "mount";

/// The name and version of the format.
pub const SCHEMA: &str = "coldstart.installed/1";
/// What all versions of the format begin with.
const ANY_VERSION: &str = "coldstart.installed/";

/// An installation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name, which is also that of its directory.
    pub name: Stored,
    /// How far it is.
    pub state: InstallationState,
    /// All else.
    #[serde(flatten)]
    pub body: NewManifest,
}

/// What is known of an installation before it has a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewManifest {
    /// The version of coldstart that wrote it.
    pub coldstart: String,
    /// When it was installed: seconds since 1970-01-01 UTC.
    pub installed_at: i64,
    /// When the plan was last recorded, likewise.
    pub recorded_at: i64,
    /// The program as it was started.
    pub program: ProgramRecord,
    /// What is needed to record it again.
    pub recording: RecordingFacts,
    /// The fixes in use.
    pub fixes: Vec<FixInUse>,
    /// Whether there is a plan, in the installation's directory. Without one, only files were replaced.
    pub has_plan: bool,
    /// The start image in the installation's directory, from which the program is started instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageRecord>,
    /// The index of modules in the installation's directory, with which the program is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexRecord>,
    /// The program that replays the plan, or starts from the image or with the index.
    pub launcher: LauncherRecord,
    /// What was written where.
    pub places: Vec<PlaceRecord>,
    /// Files of the program that were replaced.
    #[serde(default)]
    pub changed_files: Vec<ChangedFile>,
}

/// How far an installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstallationState {
    /// Files are being written. Found so, it was interrupted, and is undone by a repair.
    Installing,
    /// Complete.
    Installed,
    /// Files are being restored. Found so, it was interrupted, and is completed by a repair.
    Uninstalling,
}

/// The program of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// Its absolute path, under the name by which it is started.
    pub path: Stored,
    /// The arguments of the recorded start.
    pub arguments: Vec<Stored>,
    /// The working directory of the recorded start.
    pub working_directory: Stored,
}

/// How the program is started and waited for when it is recorded again: the values of the options of the same names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingFacts {
    /// `--ready`.
    pub ready: String,
    /// `--input`.
    pub input: Option<Stored>,
    /// `--time-limit`, in seconds.
    pub time_limit_seconds: f64,
    /// `--grace`, in seconds.
    pub grace_seconds: f64,
    /// `--strategy`: "blocking" or "concurrent"; `None` for the predicted faster one.
    pub strategy: Option<String>,
    /// `--exact`.
    pub exact: bool,
}

impl Default for RecordingFacts {
    fn default() -> Self {
        Self {
            ready: "exit".to_owned(),
            input: None,
            time_limit_seconds: 120.0,
            grace_seconds: 3.0,
            strategy: None,
            exact: false,
        }
    }
}

/// A fix in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixInUse {
    /// Its name: "prefetch".
    pub fix: String,
    /// Cold start without it, in seconds, if measured.
    pub before_seconds: Option<f64>,
    /// Cold start with it, in seconds, if measured.
    pub after_seconds: Option<f64>,
}

/// The program that replays the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LauncherRecord {
    /// Its absolute path.
    pub file: Stored,
    /// Its arguments before the plan, image or index; none of the small launcher.
    pub words: Vec<Stored>,
}

/// A start image, and what is needed to make it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Its UUID, which is also the name of the directory where it is mounted.
    pub uuid: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes in front that a start reads.
    pub read_bytes: u64,
    /// Whether the files with hot pages are compressed (`image make --compress zstd`).
    pub compressed: bool,
    /// Directories that were taken whole; none for the files of the start.
    pub trees: Vec<Stored>,
    /// Files and directories that are left out (`--exclude`).
    pub exclude: Vec<Stored>,
}

/// An index of modules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// The languages in it: "python".
    pub languages: Vec<String>,
    /// What its files take, in bytes.
    pub bytes: u64,
}

/// A place at which something was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRecord {
    /// As it was asked for: "wrapper", "unit=a.service".
    pub place: Stored,
    /// The files.
    pub files: Vec<WrittenFile>,
    /// Files that other installations may have written, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedFile>,
    /// The program that a unit of this place starts, if that is not the launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Stored>,
    /// What a file was made from; a change of it makes the place stale.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// What the user has to do after the place is written or undone: "systemctl daemon-reload".
    #[serde(default)]
    pub afterwards: Option<String>,
    /// What the user has to do after it is undone, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_undoing: Option<String>,
}

/// A file from which a place was made, such as the package's desktop entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file.
    pub path: Stored,
    /// Its SHA-256 digest then, hexadecimal.
    pub sha256: String,
}

/// A file of the program that was replaced by a changed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The file.
    pub path: Stored,
    /// The edit: "pack", "bind".
    pub edit: String,
    /// Where the original is kept.
    pub kept_original: Stored,
    /// What the part that replaces files needs besides, in its own format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

impl Manifest {
    /// Reads a manifest from its bytes; `path` is for errors.
    ///
    /// # Errors
    /// If it is damaged, or of a later version.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, InstallError> {
        #[derive(Deserialize)]
        struct OnlySchema {
            schema: String,
        }
        let damaged = |reason: String| InstallError::Manifest { path: path.to_owned(), reason };
        let OnlySchema { schema } = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        match schema.strip_prefix(ANY_VERSION) {
            Some(_) if schema == SCHEMA => {}
            Some(_) => return Err(InstallError::NewerManifest { path: path.to_owned(), schema }),
            None => return Err(damaged(format!("it has the schema `{schema}`"))),
        }
        serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))
    }

    /// The manifest as text.
    ///
    /// # Errors
    /// If a number in it cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// All files that were written, with their places.
    pub fn files(&self) -> impl Iterator<Item = &WrittenFile> {
        self.body.places.iter().flat_map(|place| &place.files)
    }

    /// All files that other installations may have written, too.
    pub fn shared_files(&self) -> impl Iterator<Item = &SharedFile> {
        self.body.places.iter().flat_map(|place| &place.shared)
    }

    /// Whether the program is started by a launcher: with a plan, from an image, or with an index.
    pub fn has_launcher(&self) -> bool {
        self.body.has_plan || self.body.image.is_some() || self.body.index.is_some()
    }

    /// Whether it is installed at a place of this kind: "login".
    pub fn has_place(&self, kind: &str) -> bool {
        self.body.places.iter().any(|record| kind_of_place(&record.place) == kind.as_bytes())
    }

    /// Whether every place is there, perhaps edited, and could be written in the same way again.
    pub fn is_in_place(&self) -> bool {
        let mut files = self.files();
        files.all(|file| matches!(file.state(), FileState::Ours | FileState::Edited))
            && self.body.places.iter().all(|place| {
                shared::are_there(place)
                    && place.sources.iter().all(Source::is_unchanged)
                    && place.starts.as_ref().is_none_or(|program| program.path().is_file())
            })
    }
}

/// The kind of a place by its words: `unit` of `unit=a.service`.
pub fn kind_of_place(words: &Stored) -> &[u8] {
    words.word().as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default()
}

impl Source {
    /// Whether the file is still as it was.
    pub fn is_unchanged(&self) -> bool {
        let real = self.path.path().canonicalize();
        real.and_then(|real| read_regular(&real)).is_ok_and(|bytes| sha256(&bytes) == self.sha256)
    }
}
