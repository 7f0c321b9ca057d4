//! The parent of a link directory, locked against other writers of links in it.
//!
//! It is found once and held open: what is written and removed stays in it even if another user, whose directory is above it,
//! exchanges that one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_output::{HeldDirectory, OutputRefusal, flush_directory};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
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

/// Where a link directory is, or is to be.
#[derive(Debug)]
pub(super) struct FarmPlace {
    /// Its path.
    pub(super) path: PathBuf,
    above: HeldDirectory,
    name: OsString,
}

impl FarmPlace {
    /// Finds the parent of a link directory.
    pub(super) fn find(farm: &Path) -> Result<Self, FarmError> {
        let (above, name) = match (farm.parent(), farm.file_name()) {
            (Some(above), Some(name)) => (above.to_owned(), name.to_owned()),
            _ => return Err(FarmError::NotOurs(farm.to_owned())),
        };
        match HeldDirectory::find(&above) {
            Ok(above) => Ok(Self { path: farm.to_owned(), above, name }),
            Err(OutputRefusal::Io(error)) if error.kind() == io::ErrorKind::NotFound => Err(FarmError::NoParent(above)),
            Err(OutputRefusal::Io(error)) => Err(FarmError::system("open", &above)(error)),
            Err(refusal) => Err(FarmError::Parent { parent: above, refusal }),
        }
    }

    /// The path of its parent.
    pub(super) fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Opens the directory there; none if there is nothing, an error if it is something else.
    pub(super) fn open(&self) -> Result<Option<HeldDirectory>, FarmError> {
        match self.above.inside(&self.name) {
            Ok(held) => Ok(Some(held)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(None),
                Some(Errno::NOTDIR | Errno::LOOP) => Err(FarmError::NotOurs(self.path.clone())),
                _ => Err(FarmError::system("look at", &self.path)(error)),
            },
        }
    }

    /// Whether a directory beside it has a temporary name of it, whoever made it. Nothing is locked.
    pub(super) fn may_have_leftovers(&self) -> bool {
        let prefix = prefix(&self.name);
        let Ok(mut entries) = std::fs::read_dir(self.above.sure()) else { return false };
        entries.any(|entry| entry.is_ok_and(|entry| process_in(&entry.file_name(), &prefix).is_some()))
    }
}

/// The parent of a link directory, locked.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) farm: FarmPlace,
    file: File,
    /// The lock is held. Some network file systems cannot lock directories; leftovers are then left alone.
    locked: bool,
}

impl Parent {
    /// Opens and locks the parent of `farm`, and removes the leftovers of killed writers of the same farm, if they
    /// were made for `program`.
    pub(super) fn of(farm: FarmPlace, program: Option<&Path>) -> Result<Self, FarmError> {
        let file = File::open(farm.above.sure()).map_err(FarmError::system("open", farm.parent()))?;
        let locked = lock(&file, farm.parent())?;
        let parent = Self { farm, file, locked };
        if let Some(program) = program {
            // A failed removal is retried by the next run.
            let _: Result<bool, FarmError> = parent.remove_leftovers(program);
        }
        Ok(parent)
    }

    /// The directory itself.
    pub(super) fn held(&self) -> &HeldDirectory {
        &self.farm.above
    }

    /// A free temporary name in the directory: the process id, with a suffix if that is taken.
    pub(super) fn temporary(&self) -> OsString {
        let process = std::process::id().to_string();
        let name = |number: u32| {
            let number = if number == 0 { String::new() } else { format!(".{number}") };
            OsString::from_vec([&self.prefix(), process.as_bytes(), number.as_bytes()].concat())
        };
        // Under the lock no other process of ours takes it; without, creating it fails.
        let is_free = |name: &OsString| self.held().sure().join(name).symlink_metadata().is_err();
        (0..TRIES).map(name).find(is_free).unwrap_or_else(|| name(TRIES))
    }

    /// Gives the directory with a temporary name that of the link directory, which has to be free.
    pub(super) fn put_in_place(&self, temporary: &OsStr) -> io::Result<()> {
        rename_to_free(&self.held().sure().join(temporary), &self.farm_for_calls())
    }

    /// Gives the link directory a temporary name, which has to be free.
    pub(super) fn put_away(&self, temporary: &OsStr) -> io::Result<()> {
        rename_to_free(&self.farm_for_calls(), &self.held().sure().join(temporary))
    }

    /// Swaps the directory with a temporary name and the link directory.
    pub(super) fn exchange(&self, temporary: &OsStr) -> io::Result<()> {
        let temporary = self.held().sure().join(temporary);
        Ok(renameat_with(CWD, temporary, CWD, self.farm_for_calls(), RenameFlags::EXCHANGE)?)
    }

    fn farm_for_calls(&self) -> PathBuf {
        self.held().sure().join(&self.farm.name)
    }

    /// Removes a directory with the links that a marker lists; see [`Marker::remove_links`].
    pub(super) fn remove(&self, marker: &Marker, name: &OsStr) -> Result<(), FarmError> {
        let shown = self.farm.path.with_file_name(name);
        let held = self.held().inside(name).map_err(FarmError::system("remove", &shown))?;
        marker.remove_links(&held)?;
        std::fs::remove_dir(self.held().sure().join(name)).map_err(FarmError::system("remove", &shown))
    }

    /// Waits until the directory's entries are on disk.
    pub(super) fn flush(&self) -> Result<(), FarmError> {
        flush_directory(self.held().sure(), &self.file).map_err(FarmError::system("flush", self.farm.parent()))
    }

    fn prefix(&self) -> Vec<u8> {
        prefix(&self.farm.name)
    }

    /// Removes directories that a terminated process created under a temporary name for this farm, and returns whether
    /// there were any. The name alone proves nothing: users may have such directories. The marker does, and only the
    /// links listed in it are removed.
    pub(super) fn remove_leftovers(&self, program: &Path) -> Result<bool, FarmError> {
        let Some(entries) = std::fs::read_dir(self.held().sure()).ok().filter(|_| self.locked) else {
            return Ok(false);
        };
        let mut removed = Ok(false);
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left = process_in(&name, &self.prefix()).is_some_and(is_gone);
            let Some(held) = is_left.then(|| self.held().inside(&name).ok()).flatten() else { continue };
            let Ok(Some(marker)) = Marker::read(&held) else { continue };
            if marker.is_left_of(program, &self.farm.path) {
                let this = self.remove(&marker, &name).map(|()| true);
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
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The name was free a moment ago; a plain rename replaces an empty directory at most.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::rename(from, to),
        other => Ok(other?),
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
