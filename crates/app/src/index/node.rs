//! Node's part of an index.

use anyhow::Context;
use coldstart_index::log::Event;
use coldstart_index::node::{HOOK, NodeIndex, files};
use coldstart_index::{IndexPlace, Language, LanguageIndex};

use super::note_unknown;
use crate::error::AppError;

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    Ok(place.write(files::HOOK, HOOK.as_bytes())?)
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no Node wrote into it.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = NodeIndex::new(events) else { return Ok(None) };
    note_unknown(index.unknown.iter().cloned(), Language::Node, notes);
    place.write(files::INDEX, &serde_json::to_vec(&index.data()).context("cannot encode the index")?)?;
    Ok(Some(LanguageIndex {
        language: Language::Node,
        interpreter: index.executable,
        version: index.version,
        modules: index.found,
        missing: index.missing,
        guards: index.guards,
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: index.files.into_iter().map(|file| file.into_os_string().into_encoded_bytes()).collect(),
    }))
}
