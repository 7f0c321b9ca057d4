//! The directory of a trial's copies.
//!
//! A lock on it lasts as long as its process; the next trial that looks at the same place removes what a killed one left. A name alone
//! proves nothing, so a leftover must also contain our mark and belong to the same user.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_profile::printable;
use coldstart_view::numbers::bytes;
use rustix::fs::{FlockOperation, StatVfsMountFlags, flock, statvfs};
use tempfile::TempDir;

use crate::error::{AppError, HintExt};

/// Beginning of the directory's name; random letters follow.
const PREFIX: &str = ".coldstart-trial-";
/// The file in it that marks it as ours.
const MARK: &str = ".made-by-coldstart";
/// Space that must stay free, in bytes.
const RESERVE: u64 = 16 << 20;

/// A directory for changed copies, removed when this is dropped.
#[derive(Debug)]
pub struct TrialDirectory {
    // Removed before the lock ends. What cannot be removed is left for the next trial.
    directory: TempDir,
    _lock: File,
}

impl TrialDirectory {
    /// Makes one on the file system of `file`, with room for `room` bytes. Tried in order: the `given` directories, `/var/tmp`,
    /// `/tmp`, the home directory, and as root the directories above `file`.
    ///
    /// # Errors
    /// If there is no such directory, with the reason for each that was tried.
    pub fn beside(file: &Path, room: u64, given: &[PathBuf]) -> Result<Self, AppError> {
        let file = file.canonicalize().map_err(|error| anyhow!("cannot use `{}`: {error}", printable(file)))?;
        let device = file.metadata().map_err(|error| anyhow!("cannot use `{}`: {error}", printable(&file)))?.dev();
        let mut refused = Vec::new();
        for place in candidates(&file, given) {
            match try_in(&place, device, room) {
                Ok(made) => return Ok(made),
                Err(reason) => refused.push(format!("`{}` {reason}", printable(&place))),
            }
        }
        let shown = printable(&file);
        Err(anyhow!("no directory for changed copies on the file system of `{shown}`: {}", refused.join("; ")))
            .hint(|| "name a writable directory on that file system")
    }

    /// Its absolute path. Everybody may enter it, as programs in the view may run as other users.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Free space in bytes, less a reserve.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn room(&self) -> io::Result<u64> {
        free_space(self.path())
    }
}

fn candidates(file: &Path, given: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = given.to_vec();
    places.extend(["/var/tmp".into(), "/tmp".into()]);
    places.extend(std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()));
    if rustix::process::geteuid().is_root() {
        places.extend(file.ancestors().skip(1).map(Path::to_owned));
    }
    let mut known = std::collections::HashSet::new();
    places.retain(|place| known.insert(place.clone()));
    places
}

fn try_in(place: &Path, device: u64, room: u64) -> Result<TrialDirectory, String> {
    let words = |error: io::Error| format!("cannot be used ({error})");
    let place = place.canonicalize().map_err(words)?;
    if place.metadata().map_err(words)?.dev() != device {
        return Err("is on another file system".to_owned());
    }
    let found = statvfs(&place).map_err(|errno| words(errno.into()))?;
    if found.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err("is mounted noexec".to_owned());
    }
    remove_leftovers(&place);
    let free = free_space(&place).map_err(words)?;
    if free < room {
        return Err(format!("has {} free of {} required", bytes(free), bytes(room)));
    }
    make_in(&place).map_err(words)
}

fn free_space(place: &Path) -> io::Result<u64> {
    let found = statvfs(place)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize).saturating_sub(RESERVE))
}

fn make_in(place: &Path) -> io::Result<TrialDirectory> {
    let permissions = fs::Permissions::from_mode(0o755);
    let directory = tempfile::Builder::new().prefix(PREFIX).permissions(permissions).tempdir_in(place)?;
    let lock = File::open(directory.path())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    // The mark comes after the lock: what carries it and is not locked is a leftover.
    File::create(directory.path().join(MARK))?;
    Ok(TrialDirectory { directory, _lock: lock })
}

/// Removes directories of trials of this user that were killed.
fn remove_leftovers(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_leftover(&entry.path()).unwrap_or(false) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_leftover(path: &Path) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(false);
    }
    if !path.join(MARK).symlink_metadata()?.is_file() {
        return Ok(false);
    }
    Ok(flock(File::open(path)?, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_removed_and_so_are_those_of_killed_trials() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let given = [place.path().to_owned()];
        let file = place.path().join("program");
        fs::write(&file, "").unwrap();
        let leftover = place.path().join(".coldstart-trial-abcdef");
        let mine = place.path().join(".coldstart-trial-of-mine");
        fs::create_dir_all(leftover.join("a/b")).unwrap();
        fs::write(leftover.join(MARK), "").unwrap();
        fs::create_dir(&mine).unwrap();
        let first = TrialDirectory::beside(&file, 1, &given).unwrap();
        assert!(!leftover.exists() && mine.exists() && first.path().starts_with(place.path().canonicalize().unwrap()));
        let second = TrialDirectory::beside(&file, 1, &given).unwrap();
        assert!(first.path().join(MARK).exists(), "it is in use");
        fs::write(second.path().join("copy"), "x").unwrap();
        let kept = second.path().to_owned();
        drop(second);
        assert!(!kept.exists());
    }

    #[test]
    fn every_refusal_is_told() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = place.path().join("program");
        fs::write(&file, "").unwrap();
        let error = TrialDirectory::beside(&file, 1 << 60, &["/proc".into(), "/no such".into()]).unwrap_err();
        let told = error.sentence();
        for part in ["`/proc` is on another file system", "`/no such` cannot be used", "required"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
