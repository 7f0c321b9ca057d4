//! The program that is installed: the original, also when a wrapper of ours is found first.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_install::{Directories, Registry};
use coldstart_launch::find_program;
use coldstart_profile::printable;

use super::registries::every_registry;
use crate::error::AppError;

/// The absolute path of a program, under the name by which it is started. Of a wrapper of ours, that of its program.
pub(super) fn original(program: &OsStr, directories: &Directories) -> Result<PathBuf, AppError> {
    let found = find_program(program, directories.path.as_deref(), None)?;
    let found = std::path::absolute(&found).context("cannot determine the working directory")?;
    Ok(wrapped_by(&found, directories).unwrap_or(found))
}

/// The program of the installation that wrote this file.
fn wrapped_by(path: &Path, directories: &Directories) -> Option<PathBuf> {
    let own = Registry::new(&directories.registry);
    for registry in std::iter::once(own).chain(every_registry()) {
        for found in registry.list().ok()? {
            let Some(Ok(manifest)) = found.manifest else { continue };
            let is_ours = manifest.files().any(|file| file.path.path() == path);
            if is_ours && manifest.body.program.path.path() != path {
                return Some(manifest.body.program.path.path().to_owned());
            }
        }
    }
    None
}

/// A note if others than root can replace the launcher that all users are going to start.
pub(super) fn unsafe_launcher(launcher: &Path) -> Option<String> {
    let open = open_to_others(launcher)?;
    Some(format!(
        "all users start `{}`, and others than root can change `{}`: install coldstart where only root may write",
        printable(launcher),
        printable(open)
    ))
}

/// The file itself, or the first directory above it, that others than root can change; `None` if only root can.
pub(super) fn open_to_others(path: &Path) -> Option<&Path> {
    let is_open = |path: &Path| {
        let sticky_directory = |mode: u32| mode & 0o41000 == 0o41000;
        let others_may = |mode: u32| mode & 0o022 != 0 && !sticky_directory(mode);
        path.metadata().map_or(true, |found| found.uid() != 0 || others_may(found.mode()))
    };
    path.ancestors().find(|path| is_open(path))
}
