//! What an index is for and holds.

use std::path::{Path, PathBuf};

use coldstart_index::{Language, OpenIndex};
use coldstart_profile::JsonPath;
use serde::Serialize;

use super::make::command_of;
use crate::error::AppError;

/// An index.
#[derive(Clone, Debug, Serialize)]
pub struct ShowOutcome {
    /// The program that was recorded, and its arguments.
    pub command: String,
    /// By language.
    pub languages: Vec<ShownLanguage>,
}

/// An index for a language.
#[derive(Clone, Debug, Serialize)]
pub struct ShownLanguage {
    /// The language.
    pub language: Language,
    /// The interpreter that was recorded.
    #[serde(skip)]
    pub interpreter: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// Its version.
    pub version: String,
    /// Names of modules with a known place.
    pub modules: u64,
    /// Names that are known to be absent.
    pub missing: u64,
    /// Directories and stores that are checked.
    #[serde(skip)]
    pub directories: Vec<PathBuf>,
    /// The same in JSON.
    guards: Vec<JsonPath>,
    /// Modules whose code is in the pack.
    pub packed: u64,
    /// Size of the pack.
    pub pack_bytes: u64,
}

/// Shows an index.
///
/// # Errors
/// If it cannot be read.
pub fn show(index: &Path) -> Result<ShowOutcome, AppError> {
    let OpenIndex { manifest, .. } = OpenIndex::open(index)?;
    let shown = |part: &coldstart_index::LanguageIndex| ShownLanguage {
        language: part.language,
        shown: JsonPath::new(&part.interpreter),
        interpreter: part.interpreter.clone(),
        version: part.version.clone(),
        modules: part.modules,
        missing: part.missing,
        guards: part.guards.iter().map(|guard| JsonPath::new(&guard.path)).collect(),
        directories: part.guards.iter().map(|guard| guard.path.clone()).collect(),
        packed: part.sources.len() as u64,
        pack_bytes: part.pack_bytes,
    };
    Ok(ShowOutcome { command: command_of(&manifest), languages: manifest.languages.iter().map(shown).collect() })
}
