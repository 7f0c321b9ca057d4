//! Starting a program with an index.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_index::{Guard, changes, in_parallel};
use coldstart_sys::named_file::open_regular;

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
    let mut files: Vec<&[u8]> = Vec::new();
    for part in &manifest.languages {
        asked.extend(part.guards.iter().cloned());
        let source =
            |source: &coldstart_index::SourceFile| Guard { path: source.path.clone(), identity: Some(source.identity) };
        asked.extend(part.sources.iter().map(source));
        files.extend(part.read_ahead.iter().map(Vec::as_slice));
    }
    // What has changed is found by the interpreter again, which then searches itself.
    let _ = changes(&asked);
    // A file that is missing is remembered by the kernel as well.
    in_parallel(&files, |_, file| read_file_ahead(Path::new(OsStr::from_bytes(file))));
    let variables = settings(&variables(&index, &manifest.languages)?);
    Ok(Prepared { variables: variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect() })
}

/// Asks the kernel to read an index's files for a language. Only advice.
fn read_ahead(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        read_file_ahead(&entry.path());
    }
}

fn read_file_ahead(path: &Path) {
    if let Ok(file) = open_regular(path) {
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::WillNeed);
    }
}
