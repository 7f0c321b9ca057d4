//! From arguments to files and directories.

use std::path::{Path, PathBuf};

use coldstart_launch::find_program;

use crate::error::AppError;

/// The target of one argument.
#[derive(Debug)]
pub(super) enum Target {
    /// A file.
    File(PathBuf),
    /// A directory to walk.
    Directory(PathBuf),
}

/// An existing path is used as it is; otherwise a bare name is searched on PATH.
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
