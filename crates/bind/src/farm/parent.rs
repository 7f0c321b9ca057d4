//! The parent of a link directory, locked against other writers of links in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_sys::named_file::{LastLink, NamedFile};
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::FarmError;
use super::marker::Marker;

/// Between a directory's name and the process id in a temporary name.
const MARK: &[u8] = b".coldstart-links.";
/// Limit on the part of a directory's name in a temporary name, in bytes: with mark and number it stays below
/// `NAME_MAX`, 255.
const LONGEST: usize = 200;
/// Number of lock attempts, with [`PAUSE`] between.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// The parent of a link directory.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) path: PathBuf,
    pub(super) file: File,
    name: OsString,
    /// The lock is held. Some network file systems cannot lock directories; leftovers are then left alone.
    locked: bool,
}

impl Parent {
    /// Opens and locks the parent of `farm`, and removes the leftovers of killed writers of the same farm, if they
    /// were made for `program`.
    pub(super) fn of(farm: &Path, program: Option<&Path>) -> Result<Self, FarmError> {
        let (path, name) = match (farm.parent(), farm.file_name()) {
            (Some(path), Some(name)) => (path.to_owned(), name.to_owned()),
            _ => return Err(FarmError::NotOurs(farm.to_owned())),
        };
        let opened = NamedFile::find(&path, LastLink::Follow).and_then(NamedFile::directory);
        let file = match opened.and_then(|found| found.open(OFlags::DIRECTORY)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FarmError::NoParent(path)),
            other => other.map_err(FarmError::system("open", &path))?.0,
        };
        let locked = lock(&file, &path)?;
        let parent = Self { path, file, name, locked };
        if let Some(program) = program {
            // A failed removal is retried by the next run.
            let _: Result<bool, FarmError> = parent.remove_leftovers(farm, program);
        }
        Ok(parent)
    }

    /// Whether a directory beside `farm` has a temporary name of it, whoever made it. Nothing is locked.
    pub(super) fn may_have_leftovers(farm: &Path) -> bool {
        let (Some(path), Some(name)) = (farm.parent(), farm.file_name()) else { return false };
        let prefix = prefix(name);
        let Ok(mut entries) = std::fs::read_dir(path) else { return false };
        entries.any(|entry| entry.is_ok_and(|entry| process_in(&entry.file_name(), &prefix).is_some()))
    }

    /// A free temporary name in the directory: the process id, with a suffix if that is taken.
    pub(super) fn temporary(&self) -> PathBuf {
        let process = std::process::id().to_string();
        let name = |number: u32| {
            let number = if number == 0 { String::new() } else { format!(".{number}") };
            self.path.join(OsString::from_vec([&self.prefix(), process.as_bytes(), number.as_bytes()].concat()))
        };
        // Under the lock no other process of ours takes it; without, creating it fails.
        let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
        (0..TRIES).map(name).find(is_free).unwrap_or_else(|| name(TRIES))
    }

    /// Waits until the directory's entries are on disk.
    pub(super) fn flush(&self) -> Result<(), FarmError> {
        flush(&self.file).map_err(FarmError::system("flush", &self.path))
    }

    fn prefix(&self) -> Vec<u8> {
        prefix(&self.name)
    }

    /// Removes directories that a terminated process created under a temporary name for this farm, and returns whether
    /// there were any. The name alone proves nothing: users may have such directories. The marker does, and only the
    /// links listed in it are removed.
    pub(super) fn remove_leftovers(&self, farm: &Path, program: &Path) -> Result<bool, FarmError> {
        let Some(entries) = std::fs::read_dir(&self.path).ok().filter(|_| self.locked) else { return Ok(false) };
        let mut removed = Ok(false);
        for entry in entries.flatten() {
            let is_left = process_in(entry.file_name().as_os_str(), &self.prefix()).is_some_and(is_gone);
            if !is_left || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let Ok(Some(marker)) = Marker::read(&entry.path()) else { continue };
            if marker.is_left_of(program, farm) {
                let this = marker.remove(&entry.path()).map(|()| true);
                removed = removed.and_then(|before| this.map(|now| before || now));
            }
        }
        removed
    }
}

/// What temporary names of a directory begin with.
fn prefix(name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    [b".", name.get(..LONGEST).unwrap_or(name), MARK].concat()
}

/// Renames a directory to a free name; fails even for an empty directory there.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The name was free a moment ago; a plain rename replaces an empty directory at most.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// Waits until an open directory's entries are on disk, if the file system supports it.
pub(super) fn flush(directory: &File) -> io::Result<()> {
    match rustix::fs::fsync(directory) {
        Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The process id in a temporary name.
fn process_in(name: &OsStr, prefix: &[u8]) -> Option<u32> {
    let rest = std::str::from_utf8(name.as_bytes().strip_prefix(prefix)?).ok()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (process, more) = rest.split_once('.').unwrap_or((rest, "0"));
    is_number(more).then_some(process).filter(|process| is_number(process))?.parse().ok()
}

/// Whether no process has this id. Our own id may be that of an earlier process, but we have left nothing.
fn is_gone(process: u32) -> bool {
    process == std::process::id() || !coldstart_host::process::exists(process)
}

/// Locks an open directory; false if that is not supported.
fn lock(file: &File, path: &Path) -> Result<bool, FarmError> {
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            Err(_) => return Ok(false),
        }
    }
    Err(FarmError::Busy(path.to_owned()))
}
