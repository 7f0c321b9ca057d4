//! The folder that a folder of links stands in, held against others who work on links in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::FarmError;

/// Between a folder's name and the number of the process in a temporary name.
const MARK: &[u8] = b".coldstart-links.";
/// The longest beginning of a folder's name that a temporary name keeps, in bytes: with mark and number it stays below
/// `NAME_MAX`, 255.
const LONGEST: usize = 200;
/// How often a lock is asked for, with [`PAUSE`] between.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// The folder that a folder of links stands in.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) path: PathBuf,
    pub(super) file: File,
    name: OsString,
    /// The lock is held. Some network file systems lock no folders; leftovers are then left alone.
    locked: bool,
}

impl Parent {
    /// Opens and locks the folder around `farm`, and removes what killed writers of the same farm have left.
    pub(super) fn of(farm: &Path) -> Result<Self, FarmError> {
        let (path, name) = match (farm.parent(), farm.file_name()) {
            (Some(path), Some(name)) => (path.to_owned(), name.to_owned()),
            _ => return Err(FarmError::NotOurs(farm.to_owned())),
        };
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FarmError::NoParent(path)),
            other => other.map_err(FarmError::system("open", &path))?,
        };
        let locked = lock(&file, &path)?;
        let parent = Self { path, file, name, locked };
        parent.remove_leftovers();
        Ok(parent)
    }

    /// A temporary name in the folder. Nobody has it: whoever is of the same number had it before, and is gone.
    pub(super) fn temporary(&self) -> PathBuf {
        let number = std::process::id().to_string();
        self.path.join(OsString::from_vec([&self.prefix(), number.as_bytes()].concat()))
    }

    /// Waits until the names in the folder are on disk.
    pub(super) fn flush(&self) -> Result<(), FarmError> {
        flush(&self.file).map_err(FarmError::system("flush", &self.path))
    }

    fn prefix(&self) -> Vec<u8> {
        let name = self.name.as_bytes();
        [b".", name.get(..LONGEST).unwrap_or(name), MARK].concat()
    }

    fn remove_leftovers(&self) {
        let Some(entries) = std::fs::read_dir(&self.path).ok().filter(|_| self.locked) else { return };
        for entry in entries.flatten() {
            if is_number(entry.file_name().as_os_str(), &self.prefix()) {
                // What cannot be removed now is tried again next time.
                let _: io::Result<()> = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Waits until the names in an open folder are on disk, where the file system knows how.
pub(super) fn flush(folder: &File) -> io::Result<()> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_number(name: &OsStr, prefix: &[u8]) -> bool {
    let rest = name.as_bytes().strip_prefix(prefix);
    rest.is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
}

/// Locks an open folder; false where that cannot be done.
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
