//! Writing a file of an installation: recorded, backed up, staged, renamed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use coldstart_output::{StagedFile, flush_directory, remove_leftovers};
use rustix::fs::{Mode, chmod, fchmod, mkdir};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::look::{Standing, is_marked, look, sha256, state};
use super::{Before, FileState, PlannedFile, WrittenFile};
use crate::error::InstallError;
use coldstart_output::Stored;

/// The record of a file that is to be written; `backup` is the name for a copy of what stands there. Nothing is changed.
pub(crate) fn prepare(planned: &PlannedFile, backup: String) -> Result<WrittenFile, InstallError> {
    let path = &planned.path;
    let before = match look(path)? {
        Standing::Nothing => None,
        Standing::Other => return Err(InstallError::Special { path: path.clone() }),
        Standing::Link(target) => Some(Before::Link { target }),
        Standing::File { bytes, .. } if is_marked(&bytes) => {
            return Err(InstallError::Refused {
                place: format!("`{}`", coldstart_profile::printable(path)),
                reason: "it was written by an installation that is no longer recorded".to_owned(),
                hint: Some("remove the file first".to_owned()),
            });
        }
        Standing::File { stat, bytes } => Some(Before::File {
            backup,
            sha256: sha256(&bytes),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified_seconds: stat.st_mtime,
            modified_nanoseconds: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        }),
    };
    Ok(WrittenFile {
        path: Stored::from(path.as_path()),
        sha256: sha256(&planned.bytes),
        mode: planned.mode,
        before,
        created_directories: missing_directories(path),
    })
}

/// The directories above a path that do not exist, the outermost first.
pub(crate) fn missing_directories(path: &Path) -> Vec<Stored> {
    let missing = path.ancestors().skip(1).take_while(|above| !above.exists());
    let mut missing: Vec<Stored> = missing.map(Stored::from).collect();
    missing.reverse();
    missing
}

/// Copies what stands at the path into the directory of backups.
pub(crate) fn back_up(file: &WrittenFile, backups: &Path) -> Result<(), InstallError> {
    let Some(Before::File { backup, sha256: expected, .. }) = &file.before else { return Ok(()) };
    let path = file.path.path();
    match look(path)? {
        Standing::File { bytes, .. } if sha256(&bytes) == *expected => {
            create_directories(&[backups.to_owned()])?;
            write_new(&backups.join(backup), &bytes, 0o600)
        }
        _ => Err(InstallError::ChangedMeanwhile { path: path.to_owned() }),
    }
}

/// Writes the file over what was recorded, and nothing else.
pub(crate) fn write(file: &WrittenFile, bytes: &[u8]) -> Result<(), InstallError> {
    let path = file.path.path();
    create_directories(&file.created_directories.iter().map(|made| made.path().to_owned()).collect::<Vec<_>>())?;
    match state(file) {
        FileState::Ours => return Ok(()),
        FileState::Before => {}
        FileState::Missing | FileState::Edited => {
            return Err(InstallError::ChangedMeanwhile { path: path.to_owned() });
        }
    }
    write_new(path, bytes, file.mode)
}

/// Writes a file under its name, replacing what is there, and flushes both to disk.
pub(crate) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), InstallError> {
    staged(path, bytes, |file| Ok(fchmod(file.file(), Mode::from_raw_mode(mode))?))
        .map_err(InstallError::io("write", path))
}

/// Copies an open file under a name, replacing what is there, and flushes it to disk. It may be large.
pub(crate) fn copy_new(mut from: &File, path: &Path, mode: u32) -> Result<(), InstallError> {
    staged_by(path, |file| {
        from.rewind()?;
        io::copy(&mut from, &mut file.file())?;
        Ok(fchmod(file.file(), Mode::from_raw_mode(mode))?)
    })
    .map_err(InstallError::io("write", path))
}

/// The same with rights of the caller's choice.
pub(super) fn staged(path: &Path, bytes: &[u8], rights: impl FnOnce(&StagedFile) -> io::Result<()>) -> io::Result<()> {
    staged_by(path, |file| {
        file.file().write_all(bytes)?;
        rights(file)
    })
}

fn staged_by(path: &Path, fill: impl FnOnce(&StagedFile) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    // Of an earlier run that was killed. Errors do not matter here.
    let _ = remove_leftovers(directory);
    let mut file = StagedFile::create(directory, path.file_name().unwrap_or(OsStr::new("file")), 0o600)?;
    fill(&file)?;
    file.file().sync_all()?;
    file.name_over(path)?;
    flush_directory(directory, file.file())
}

/// Creates directories, the outermost first, each flushed to disk.
pub(crate) fn create_directories(directories: &[PathBuf]) -> Result<(), InstallError> {
    for directory in directories {
        let failed = InstallError::io("create the directory", directory);
        match mkdir(directory, Mode::from_raw_mode(0o755)) {
            Ok(()) => {
                // What root installs is for all users, whatever root's umask.
                if geteuid().is_root() {
                    chmod(directory, Mode::from_raw_mode(0o755)).map_err(|errno| failed(errno.into()))?;
                }
                if let Ok(above) = std::fs::File::open(directory.parent().unwrap_or(Path::new("/"))) {
                    let _ = above.sync_all();
                }
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
    }
    Ok(())
}
