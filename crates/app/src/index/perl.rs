//! Perl's part of an index.

use std::os::unix::ffi::OsStrExt;

use coldstart_index::log::Event;
use coldstart_index::perl::{HOOK, PerlIndex, files};
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_profile::printable;

use crate::error::AppError;

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    Ok(place.write(files::HOOK, HOOK.as_bytes())?)
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no Perl wrote into it.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = PerlIndex::new(events) else { return Ok(None) };
    for (path, reason) in &index.providers.unknown {
        notes.push(format!("`{}` is left to Perl: {reason}", printable(path)));
    }
    place.write(files::INDEX, &index.encode())?;
    Ok(Some(LanguageIndex {
        language: Language::Perl,
        interpreter: index.executable,
        version: index.version,
        modules: index.providers.name_count() as u64,
        missing: index.missing,
        guards: index.providers.guards().to_vec(),
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: index.providers.files.iter().map(|file| file.as_os_str().as_bytes().to_vec()).collect(),
    }))
}
