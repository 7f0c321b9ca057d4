//! A wrapper under the program's name, in a directory that comes first in the `PATH`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::{Place, PlannedPlace, Subject, find_in, is_same_file, script};
use crate::error::InstallError;
use crate::file::PlannedFile;

/// `wrapper`, `wrapper=DIRECTORY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// `None` for the scope's own: `/usr/local/bin`, `~/.local/bin`.
    pub directory: Option<PathBuf>,
}

impl Place for Wrapper {
    fn words(&self) -> OsString {
        match &self.directory {
            None => "wrapper".into(),
            Some(directory) => {
                let mut words = OsString::from("wrapper=");
                words.push(directory);
                words
            }
        }
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let directory = self.directory.as_deref().unwrap_or(&subject.directories.wrappers);
        let program_name = subject.program.file_name().unwrap_or(subject.name);
        let path = directory.join(program_name);
        if is_same_file(&path, subject.program) {
            let place = format!("the wrapper `{}`", printable(&path));
            let hint = "name another directory with `--place wrapper=DIRECTORY`, one before this one in the PATH";
            return Err(InstallError::refused(place, "that is the program itself", Some(hint)));
        }
        let mut notes = Vec::new();
        notes.extend(shadowed(subject, directory, program_name));
        let for_whom = subject.directories.for_whom();
        Ok(PlannedPlace {
            summary: format!("the wrapper `{}`, for {for_whom}", printable(&path)),
            files: vec![PlannedFile { path, bytes: script::starter(subject, Some(subject.program)), mode: 0o755 }],
            notes,
            ..PlannedPlace::default()
        })
    }
}

/// A note if the shell finds another program of this name before the wrapper.
fn shadowed(subject: &Subject<'_>, directory: &Path, program_name: &OsStr) -> Option<String> {
    let path = subject.directories.path.as_deref();
    let directories: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let shown = printable(directory);
    let Some(position) = directories.iter().position(|entry| is_same_file(entry, directory)) else {
        return Some(format!("`{shown}` is not in PATH: put it in front of the others to use the wrapper"));
    };
    let before = std::env::join_paths(directories.iter().take(position)).unwrap_or_default();
    let first = find_in(Some(&before), program_name, None).filter(|_| position > 0)?;
    Some(format!("PATH has `{}` before the wrapper: put `{shown}` in front of its directory", printable(&first)))
}
