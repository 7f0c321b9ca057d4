//! Restoring what stood at a path before.

use std::os::unix::fs::symlink;
use std::path::Path;

use coldstart_output::remove_leftovers;
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid, fchmod, fchown, futimens, rmdir, unlink};
use rustix::io::Errno;

use super::look::{read_regular, sha256, state};
use super::write::staged;
use super::{Before, FileState, WrittenFile};
use crate::error::InstallError;

/// Restores what stood there before, and returns what was found there. An edited file stays as it is; `force` counts it as ours.
pub(crate) fn restore(file: &WrittenFile, backups: &Path, force: bool) -> Result<FileState, InstallError> {
    let path = file.path.path();
    if let Some(directory) = path.parent() {
        let _ = remove_leftovers(directory);
    }
    let found = state(file);
    match (found, &file.before) {
        (FileState::Before, _) => {}
        // What was there is gone; whoever removed ours did not want it there.
        (FileState::Missing, _) => {}
        (FileState::Edited, _) if !force => return Ok(found),
        (FileState::Ours | FileState::Edited, None) => remove(path)?,
        (FileState::Ours | FileState::Edited, Some(before)) => put_back(before, path, backups)?,
    }
    for directory in file.created_directories.iter().rev() {
        remove_empty(directory.path());
    }
    Ok(found)
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> Result<(), InstallError> {
    match unlink(path) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(InstallError::io("remove", path)(errno.into())),
    }
    flush_parent(path);
    Ok(())
}

fn put_back(before: &Before, path: &Path, backups: &Path) -> Result<(), InstallError> {
    match before {
        Before::File { backup, sha256: expected, mode, uid, gid, modified_seconds, modified_nanoseconds } => {
            let backup = backups.join(backup);
            let bytes = read_regular(&backup).map_err(InstallError::io("read the backup", &backup))?;
            if sha256(&bytes) != *expected {
                let reason = "its content has changed".to_owned();
                return Err(InstallError::Manifest { path: backup, reason });
            }
            let modified = Timespec { tv_sec: *modified_seconds, tv_nsec: *modified_nanoseconds as _ };
            staged(path, &bytes, |file| {
                // Only root may give a file away, and then it was root's to replace.
                let _ = fchown(file.file(), Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)));
                fchmod(file.file(), Mode::from_raw_mode(*mode))?;
                Ok(futimens(file.file(), &Timestamps { last_access: modified, last_modification: modified })?)
            })
            .map_err(InstallError::io("restore", path))
        }
        Before::Link { target } => {
            // No call replaces a file by a new link: the link gets a name of its own first.
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(".coldstart-link");
            let beside = path.with_file_name(name);
            let _ = unlink(&beside);
            symlink(target.path(), &beside).map_err(InstallError::io("restore", path))?;
            std::fs::rename(&beside, path).map_err(InstallError::io("restore", path))?;
            flush_parent(path);
            Ok(())
        }
    }
}

/// Removes a directory if it is empty.
pub(crate) fn remove_empty(directory: &Path) {
    if rmdir(directory).is_ok() {
        flush_parent(directory);
    }
}

/// Has a change in the directory of a path written to disk.
pub(crate) fn flush_parent(path: &Path) {
    if let Ok(directory) = std::fs::File::open(path.parent().unwrap_or(Path::new("/"))) {
        let _ = directory.sync_all();
    }
}
