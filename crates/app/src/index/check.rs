//! What has changed since an index was made.

use std::path::{Path, PathBuf};

use coldstart_index::{Change, Guard, Identity, Language, OpenIndex, changes};
use coldstart_profile::JsonPath;
use serde::Serialize;

use crate::error::AppError;

/// What has changed.
#[derive(Clone, Debug, Serialize)]
pub struct CheckOutcome {
    /// Nothing has.
    pub fresh: bool,
    /// By language.
    pub languages: Vec<LanguageChanges>,
}

/// What has changed for a language.
#[derive(Clone, Debug, Serialize)]
pub struct LanguageChanges {
    /// The language.
    pub language: Language,
    /// Number of directories and stores that were checked.
    pub guards: u64,
    /// Number of sources that were checked.
    pub sources: u64,
    /// Whether the interpreter is still there.
    pub has_interpreter: bool,
    /// Directories and stores that changed: names in them are searched by the interpreter.
    pub changed_directories: Vec<ChangedPath>,
    /// Sources that changed: their code is compiled or read by the interpreter.
    pub changed_sources: Vec<ChangedPath>,
}

/// A path and how it has changed.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedPath {
    /// The path.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// How.
    pub change: Change,
}

/// Checks all that an index depends on.
///
/// # Errors
/// If the index cannot be read.
pub fn check(index: &Path) -> Result<CheckOutcome, AppError> {
    let OpenIndex { manifest, .. } = OpenIndex::open(index)?;
    let mut languages = Vec::new();
    for part in &manifest.languages {
        let sources: Vec<Guard> = part
            .sources
            .iter()
            .map(|source| Guard { path: source.path.clone(), identity: Some(source.identity) })
            .collect();
        languages.push(LanguageChanges {
            language: part.language,
            guards: part.guards.len() as u64,
            sources: sources.len() as u64,
            has_interpreter: Identity::of(&part.interpreter).is_ok(),
            changed_directories: changed(&part.guards),
            changed_sources: changed(&sources),
        });
    }
    let is_fresh = |part: &LanguageChanges| {
        part.has_interpreter && part.changed_directories.is_empty() && part.changed_sources.is_empty()
    };
    Ok(CheckOutcome { fresh: languages.iter().all(is_fresh), languages })
}

fn changed(guards: &[Guard]) -> Vec<ChangedPath> {
    let path = |number: usize| guards.get(number).map(|guard| guard.path.clone()).unwrap_or_default();
    let changed = changes(guards).into_iter().map(|(number, change)| (path(number), change));
    changed.map(|(path, change)| ChangedPath { shown: JsonPath::new(&path), path, change }).collect()
}
