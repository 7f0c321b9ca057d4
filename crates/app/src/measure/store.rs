//! Adding a measurement to the history: access is checked before measuring, and a later failure does not lose the measurement.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use coldstart_history::{Added, History, HistoryError, Surroundings, default_path};
use coldstart_launch::CommandLine;
use coldstart_measure::Measurement;
use coldstart_output::OutputTarget;
use coldstart_profile::measurement::{KeptMeasurement, ProgramIdentity};
use coldstart_profile::{printable, shell_word};
use coldstart_view::dates::compact;
use serde::Serialize;

use super::SCHEMA;
use super::identity::identity_of;
use super::options::Keeping;
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::observer::Observer;
use crate::reading::read;
use crate::writing::write_file;

/// Size limit of a measurement in bytes: ten thousand runs take some ten million.
const MOST_BYTES: u64 = 32 << 20;

/// Where measurements are to be kept.
pub(super) struct Store {
    /// `None` if nothing is to be kept.
    path: Option<PathBuf>,
}

impl Store {
    /// Checks that the history is writable. If not, the observer gets a note, and measuring continues without it.
    ///
    /// # Errors
    /// If the file is not a history of coldstart, or is damaged: better now than after measuring.
    pub(super) fn try_out(keeping: &Keeping, observer: &dyn Observer) -> Result<Self, AppError> {
        if keeping.nothing {
            return Ok(Self { path: None });
        }
        let Some(path) = path_of(keeping) else {
            observer.note("this measurement will not be kept: HOME is not set");
            observer.hint("name the history with --history-file FILE or COLDSTART_HISTORY");
            return Ok(Self { path: None });
        };
        match History::open(&path) {
            Ok(_) => Ok(Self { path: Some(path) }),
            // The lock may be released by then; otherwise the measurement is saved next to the history.
            Err(error @ HistoryError::Locked { .. }) => {
                observer.note(&format!("{error}; trying again after the measurement"));
                Ok(Self { path: Some(path) })
            }
            Err(error) if error.is_passing() => {
                observer.note(&format!("this measurement will not be kept: {error}"));
                observer.hint(&error.hint().unwrap_or_default());
                Ok(Self { path: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The history as it is, to look things up; `None` if there is none.
    pub(super) fn read(&self) -> Result<Option<History>, AppError> {
        Ok(self.path.as_deref().map_or(Ok(None), History::open_to_read)?)
    }

    /// Adds a measurement and returns its number. If that fails, it is saved as a file, with a note.
    pub(super) fn keep(&self, kept: &KeptMeasurement, observer: &dyn Observer) -> Option<i64> {
        let path = self.path.as_ref()?;
        match History::open(path).and_then(|mut history| history.add(kept)) {
            Ok(added) => Some(added.number()),
            Err(error) => {
                rescue(path, kept, &error, observer);
                None
            }
        }
    }
}

/// The history's file, if there is a place for one.
pub(super) fn path_of(keeping: &Keeping) -> Option<PathBuf> {
    keeping.file.clone().or_else(|| default_path(&Surroundings::of_process()))
}

/// The history that `keeping` names, to look things up; `None` if there is none, or nothing is to be kept.
pub(super) fn to_read(keeping: &Keeping) -> Result<Option<History>, AppError> {
    if keeping.nothing {
        return Ok(None);
    }
    Ok(path_of(keeping).map_or(Ok(None), |path| History::open_to_read(&path))?)
}

/// Opens the history of `keeping` for reading.
///
/// # Errors
/// When there is no history, or it cannot be read.
pub(super) fn open_to_read(keeping: &Keeping) -> Result<History, AppError> {
    let path = path_of(keeping).context("the path of the history is unknown: HOME is not set");
    let path = path.hint(|| "name it with --history-file FILE or COLDSTART_HISTORY")?;
    let history = History::open_to_read(&path)?;
    history
        .ok_or_else(|| anyhow!("no history `{}`: nothing has been measured yet", printable(&path)))
        .hint(|| "`coldstart measure -- PROGRAM` measures and creates one; name another with --history-file FILE")
}

/// An imported measurement file.
#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// The file.
    #[serde(skip)]
    pub file: PathBuf,
    /// The measurement's number in the history.
    pub number: i64,
    /// Whether the history did not have it before.
    pub is_new: bool,
}

/// Imports files of `measure --json` into the history. All files are read before any is imported.
///
/// # Errors
/// If the history's path is unknown, a file is not a measurement, or the history cannot be written.
pub fn import(keeping: &Keeping, files: &[PathBuf]) -> Result<Vec<Imported>, AppError> {
    let path = path_of(keeping).context("the path of the history is unknown: HOME is not set");
    let path = path.hint(|| "name it with --history-file FILE or COLDSTART_HISTORY")?;
    let kept = files.iter().map(|file| read_json(file)).collect::<Result<Vec<_>, _>>()?;
    let mut history = History::open(&path)?;
    let mut imported = Vec::new();
    for (file, kept) in files.iter().zip(&kept) {
        let added = history.add(kept).hint(|| format!("`{}` was not imported", printable(file)))?;
        let is_new = matches!(added, Added::New(_));
        imported.push(Imported { file: file.clone(), number: added.number(), is_new });
    }
    Ok(imported)
}

/// A measurement that `--json` has written.
///
/// # Errors
/// When it cannot be read, or is something else.
pub(super) fn read_json(file: &Path) -> Result<KeptMeasurement, AppError> {
    let name = || printable(file);
    let bytes = read("", file, MOST_BYTES)?;
    let no_measurement = || format!("`{}` is not a measurement", name());
    let hint = || "`coldstart measure --json` writes one";
    let json: serde_json::Value = serde_json::from_slice(&bytes).with_context(no_measurement).hint(hint)?;
    if json.get("schema").and_then(serde_json::Value::as_str) != Some(SCHEMA) {
        return Err(anyhow!("{}: its schema is not {SCHEMA}", no_measurement())).hint(hint);
    }
    let mut kept: KeptMeasurement = serde_json::from_value(json).with_context(no_measurement).hint(hint)?;
    if kept.id.is_empty() {
        // Written before measurements had one.
        kept.id = blake3::hash(&bytes).to_hex().to_string();
    }
    Ok(kept)
}

/// A measurement with the identities of its programs.
pub(super) fn kept(
    measurement: Measurement,
    label: Option<String>,
    began: SystemTime,
    programs: Vec<Option<ProgramIdentity>>,
) -> KeptMeasurement {
    let since = began.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&since.as_nanos().to_le_bytes()).update(&std::process::id().to_le_bytes());
    for sample in &measurement.samples {
        hasher.update(&sample.seconds.unwrap_or_default().to_le_bytes());
    }
    let id = hasher.finalize().to_hex().get(..32).unwrap_or_default().to_owned();
    KeptMeasurement {
        id,
        measured_at: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        label,
        coldstart_version: env!("CARGO_PKG_VERSION").to_owned(),
        programs,
        measurement,
    }
}

/// The identities of the commands' programs.
pub(super) fn programs<'a>(commands: impl Iterator<Item = &'a CommandLine>) -> Vec<Option<ProgramIdentity>> {
    commands.map(|command| identity_of(&command.program)).collect()
}

/// Saves a measurement that could not be added: next to the history, or in the current or temporary directory.
fn rescue(history: &Path, kept: &KeptMeasurement, error: &HistoryError, observer: &dyn Observer) {
    let name = format!("coldstart-{}-{}.json", compact(kept.measured_at), kept.id.get(..8).unwrap_or_default());
    let folders = [history.parent().map(Path::to_owned), std::env::current_dir().ok(), Some(std::env::temp_dir())];
    let save = |folder: PathBuf| {
        let file = folder.join(&name);
        let bytes = serde_json::to_vec_pretty(&Document { schema: SCHEMA, kept }).ok()?;
        write_file(&OutputTarget::new(&file, kinds::MEASUREMENT, false).ok()?.private(), &bytes).ok()?;
        Some(file)
    };
    observer.note(&format!("this measurement was not added to the history: {error}"));
    match folders.into_iter().flatten().find_map(save) {
        Some(file) => {
            let import = format!("coldstart measure --import {}", shell_word(file.as_os_str()));
            observer.hint(&format!("it is saved as `{}`; import it with `{import}`", printable(&file)));
        }
        None => observer.hint("it could not be saved elsewhere either; use --json to print it"),
    }
}

/// A measurement as `--json` prints it.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'a str,
    #[serde(flatten)]
    kept: &'a KeptMeasurement,
}
