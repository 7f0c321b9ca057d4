//! Starting a program with an index.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use coldstart_index::{Guard, changes};

use super::{open, settings, variables};
use crate::error::AppError;

/// An index that is ready to be used.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The variables to set.
    pub variables: Vec<(OsString, OsString)>,
}

/// Asks all that the interpreter will check, in parallel, so that its own questions find their answers in the kernel's caches; and has
/// the data read.
///
/// The interpreter still checks everything itself: a program that edits a module before it imports it must get the new one.
///
/// # Errors
/// If the index cannot be read.
pub fn prepare(index: &Path) -> Result<Prepared, AppError> {
    let (index, manifest) = open(index)?;
    for part in &manifest.languages {
        read_ahead(&index.join(part.language.directory()));
    }
    let mut asked: Vec<Guard> = Vec::new();
    for part in manifest.languages.iter() {
        asked.extend(part.guards.iter().cloned());
        let source =
            |source: &coldstart_index::SourceFile| Guard { path: source.path.clone(), identity: Some(source.identity) };
        asked.extend(part.sources.iter().map(source));
    }
    // What has changed is found by the interpreter again, which then searches itself.
    let _ = changes(&asked);
    let variables = settings(&variables(&index, &manifest.languages)?);
    Ok(Prepared { variables: variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect() })
}

/// Asks the kernel to read an index's files for a language. Only advice.
fn read_ahead(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Ok(file) = File::open(entry.path()) {
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::WillNeed);
        }
    }
}
