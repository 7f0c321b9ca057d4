//! Guile's part of an index.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, anyhow};
use coldstart_index::guile::{GuileIndex, INIT, empty_hook, files};
use coldstart_index::log::Event;
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_launch::{CommandLine, LaunchOptions, Output, launch};
use coldstart_profile::printable;

use crate::error::{AppError, HintExt};

const COMPILE: &str =
    "(use-modules (system base compile)) (compile-file (cadr (command-line)) #:output-file (caddr (command-line)))";
const ANSWER: &str = "guile/answer";

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    place.write(files::INIT, INIT.as_bytes())?;
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
    for (path, reason) in &index.providers.unknown {
        notes.push(format!("`{}` is left to Guile: {reason}", printable(path)));
    }
    place.write(files::HOOK, index.hook().as_bytes())?;
    let Some(compiled) = index.compiled() else { return Ok(None) };
    let path = |name: &str| place.directory().join(name);
    let arguments: [OsString; 5] =
        ["--no-auto-compile".into(), "-c".into(), COMPILE.into(), path(files::HOOK).into(), path(&compiled).into()];
    let options = LaunchOptions {
        output: Output::File(path(ANSWER)),
        time_limit: options.time_limit,
        grace: options.grace,
        interrupt: options.interrupt.clone(),
        ..LaunchOptions::default()
    };
    let launched = launch(&CommandLine::new(&index.executable, arguments), &options, None, &mut || {})?;
    if !launched.succeeded() {
        let printed = fs::read(path(ANSWER)).context("cannot read Guile's answer")?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        let guile = printable(&index.executable);
        return Err(anyhow!("`{guile}` cannot compile the index: it {}: {last}", launched.end))
            .hint(|| "is there room on the file system of the index? An index needs Guile 3");
    }
    for temporary in [files::HOOK, ANSWER] {
        fs::remove_file(path(temporary)).context("cannot remove a temporary file")?;
    }
    Ok(Some(LanguageIndex {
        language: Language::Guile,
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
