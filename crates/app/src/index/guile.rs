//! Guile's part of an index.

use std::ffi::OsString;

use coldstart_index::guile::{GuileIndex, INIT, ORDER, empty_hook, files};
use coldstart_index::log::Event;
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_launch::LaunchOptions;

use super::answer::Compiler;
use super::{note_unknown, of_providers, remove_temporaries};
use crate::error::AppError;

const COMPILE: &str =
    "(use-modules (system base compile)) (compile-file (cadr (command-line)) #:output-file (caddr (command-line)))";
const ANSWER: &str = "guile/answer";

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    place.write(files::INIT, INIT.as_bytes())?;
    place.write(files::ORDER, ORDER.as_bytes())?;
    Ok(place.write(files::HOOK, empty_hook().as_bytes())?)
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no Guile wrote into it.
///
/// # Errors
/// If Guile does not compile the hook, or a file cannot be written.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    options: &LaunchOptions,
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = GuileIndex::new(events) else { return Ok(None) };
    note_unknown(index.providers.unknown.iter().cloned(), Language::Guile, notes);
    place.write(files::HOOK, index.source().as_bytes())?;
    let Some(compiled) = index.compiled() else { return Ok(None) };
    let path = |name: &str| place.directory().join(name);
    let arguments: [OsString; 5] =
        ["--no-auto-compile".into(), "-c".into(), COMPILE.into(), path(files::HOOK).into(), path(&compiled).into()];
    let compiler = Compiler {
        language: Language::Guile,
        interpreter: index.executable.clone(),
        arguments: arguments.into(),
        answer: path(ANSWER),
        oldest: "3",
    };
    compiler.run(options)?;
    remove_temporaries(place, &[files::HOOK, ANSWER])?;
    let (interpreter, version) = (index.executable, index.version);
    Ok(Some(of_providers(Language::Guile, interpreter, version, index.missing, &index.providers)))
}
