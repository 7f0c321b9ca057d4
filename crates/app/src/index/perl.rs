//! Perl's part of an index.

use coldstart_index::log::Event;
use coldstart_index::perl::{HOOK, PerlIndex, files};
use coldstart_index::{IndexPlace, Language, LanguageIndex};

use super::{note_unknown, of_providers};
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
    note_unknown(index.providers.unknown.iter().cloned(), Language::Perl, notes);
    place.write(files::INDEX, &index.encode())?;
    let (interpreter, version) = (index.executable, index.version);
    Ok(Some(of_providers(Language::Perl, interpreter, version, index.missing, &index.providers)))
}
