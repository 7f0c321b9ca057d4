//! From names to the files that are meant.

use std::path::{Path, PathBuf};

use coldstart_launch::find_program;

use crate::error::AppError;

/// What one argument means.
#[derive(Debug)]
pub(super) enum Target {
    /// A file.
    File(PathBuf),
    /// A directory to walk.
    Directory(PathBuf),
}

/// A path that exists is meant as it stands; a bare name that does not is looked for on PATH.
pub(super) fn target(typed: &Path) -> Result<Target, AppError> {
    if typed.is_dir() {
        return Ok(Target::Directory(typed.to_owned()));
    }
    let is_bare = typed.components().count() == 1 && !typed.to_string_lossy().contains('/');
    if is_bare && typed.symlink_metadata().is_err() {
        let found = find_program(typed.as_os_str(), std::env::var_os("PATH").as_deref(), None)?;
        return Ok(Target::File(found));
    }
    Ok(Target::File(typed.to_owned()))
}
