//! The directory of a trial's copies.
//!
//! A lock on it lasts as long as its process; the next trial that looks at the same place removes what a killed one left. A name alone
//! proves nothing, so a leftover must also contain our mark and belong to the same user. Between its making and its mark it is told by
//! its mode, which it has from the first moment (`mkdir(2)`); then it is empty.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_profile::printable;
use coldstart_view::numbers::bytes;
use rustix::fs::{FlockOperation, StatVfs, StatVfsMountFlags, flock, statvfs};
use tempfile::TempDir;

use crate::error::{AppError, HintExt};
use crate::text::counted;

/// Beginning of the directory's name; random letters follow.
const PREFIX: &str = ".coldstart-trial-";
/// The file in it that marks it as ours.
const MARK: &str = ".made-by-coldstart";
/// Its mode until it has the mark. A sticky directory that only its owner may enter has no use, so nobody makes one.
const UNMARKED: u32 = 0o1700;
const PERMISSION_BITS: u32 = 0o7777;
/// Attempts to make one, as another process may take an unmarked one for a leftover.
const ATTEMPTS: u32 = 8;
/// Space that must stay free, in bytes; on a small file system a twentieth of it.
const RESERVE: u64 = 16 << 20;
const RESERVED_SHARE: u64 = 20;

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
        let (mut elsewhere, mut has_no_room, mut refused) = (0, false, Vec::new());
        for place in candidates(&file, given) {
            match try_in(&place, device, room) {
                Ok(made) => return Ok(made),
                Err(Unfit::OtherFileSystem) => elsewhere += 1,
                // It is the same file system.
                Err(Unfit::NoRoom(_)) if has_no_room => {}
                Err(Unfit::NoRoom(reason)) => {
                    has_no_room = true;
                    refused.push(format!("`{}` {reason}", printable(&place)));
                }
                Err(Unfit::Because(reason)) => refused.push(format!("`{}` {reason}", printable(&place))),
            }
        }
        let shown = printable(&file);
        if elsewhere > 0 {
            let directories = counted(elsewhere, "directory");
            refused.push(format!("{directories} on other file systems"));
        }
        Err(anyhow!("no directory for copies on the file system of `{shown}`: {}", refused.join("; ")))
            .hint(|| "free some space, or have a writable directory on that file system")
    }

    /// Its absolute path. Everybody may enter it, as programs in the view may run as other users.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Files by the file system that they are on, each group with a directory that has room for copies of all of it, or why there is none.
/// `of` gives a file's path and the size of its copy in bytes.
pub fn by_device<T>(files: Vec<T>, of: impl Fn(&T) -> (&Path, u64)) -> Vec<(Vec<T>, Result<TrialDirectory, AppError>)> {
    let mut groups: Vec<(Option<u64>, Vec<T>)> = Vec::new();
    for file in files {
        let device = of(&file).0.metadata().ok().map(|found| found.dev());
        match groups.iter_mut().find(|(known, _)| *known == device) {
            Some((_, group)) => group.push(file),
            None => groups.push((device, vec![file])),
        }
    }
    let with_directory = |group: Vec<T>| {
        let room = group.iter().map(|file| on_disk(of(file).1)).sum();
        let directory = match group.first() {
            Some(first) => TrialDirectory::beside(of(first).0, room, &[]),
            None => Err(anyhow!("no files").into()),
        };
        (group, directory)
    };
    groups.into_iter().map(|(_, group)| with_directory(group)).collect()
}

/// The room that a file takes, in bytes: whole blocks, and one for its inode.
fn on_disk(size: u64) -> u64 {
    const BLOCK: u64 = 4096;
    size.next_multiple_of(BLOCK).saturating_add(BLOCK)
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

/// Why a directory cannot be used.
enum Unfit {
    OtherFileSystem,
    /// A clause about the directory.
    NoRoom(String),
    /// A clause about the directory.
    Because(String),
}

fn try_in(place: &Path, device: u64, room: u64) -> Result<TrialDirectory, Unfit> {
    let words = |error: io::Error| Unfit::Because(format!("cannot be used ({error})"));
    let place = place.canonicalize().map_err(words)?;
    if place.metadata().map_err(words)?.dev() != device {
        return Err(Unfit::OtherFileSystem);
    }
    let found = statvfs(&place).map_err(|errno| words(errno.into()))?;
    if found.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(Unfit::Because("is mounted noexec".to_owned()));
    }
    remove_leftovers(&place);
    let total = found.f_blocks.saturating_mul(found.f_frsize);
    let reserve = RESERVE.min(total / RESERVED_SHARE);
    if let Some(free) = free_in(&found)
        && free < room.saturating_add(reserve)
    {
        let (free, room, reserve) = (bytes(free), bytes(room), bytes(reserve));
        return Err(Unfit::NoRoom(format!("has {free} free, and {room} are required beside {reserve} that stay free")));
    }
    make_in(&place).map_err(words)
}

/// What this user may still write on the file system of `place`, in bytes; `None` where that tells no sizes, which it shows by a size
/// of 0 in all: a tmpfs without a limit (`size=0`), and FUSE file systems without `statfs`.
///
/// # Errors
/// The kernel's error.
pub fn free_space(place: &Path) -> io::Result<Option<u64>> {
    Ok(free_in(&statvfs(place)?))
}

fn free_in(found: &StatVfs) -> Option<u64> {
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

fn make_in(place: &Path) -> io::Result<TrialDirectory> {
    let mut made = try_to_make_in(place);
    for _ in 1..ATTEMPTS {
        match &made {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {
                made = try_to_make_in(place);
            }
            _ => break,
        }
    }
    made
}

/// Fails with `NotFound` or `WouldBlock` if another process has just taken it for a leftover.
fn try_to_make_in(place: &Path) -> io::Result<TrialDirectory> {
    let unmarked = fs::Permissions::from_mode(UNMARKED);
    let directory = tempfile::Builder::new().prefix(PREFIX).permissions(unmarked).tempdir_in(place)?;
    let lock = File::open(directory.path())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    // The mark comes after the lock: what carries it and is not locked is a leftover.
    File::create(directory.path().join(MARK))?;
    lock.set_permissions(fs::Permissions::from_mode(0o755))?;
    Ok(TrialDirectory { directory, _lock: lock })
}

/// Removes directories of trials of this user that were killed.
fn remove_leftovers(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // What cannot be removed is left.
            let _ = remove_leftover(&entry.path());
        }
    }
}

fn remove_leftover(path: &Path) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let lock = File::open(path)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    if path.join(MARK).symlink_metadata().is_ok_and(|mark| mark.is_file()) {
        return fs::remove_dir_all(path);
    }
    // The mode now, under the lock. Only an empty directory is removed.
    if lock.metadata()?.mode() & PERMISSION_BITS == UNMARKED { fs::remove_dir(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_sizes_is_not_taken_for_full() {
        assert_eq!(free_space(Path::new("/proc")).unwrap(), None);
        assert!(free_space(Path::new("/var/tmp")).unwrap().is_some());
    }

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
        // Killed before the mark; and one that somebody made for himself, with the same mode.
        let unmarked = place.path().join(".coldstart-trial-unmarked");
        let used = place.path().join(".coldstart-trial-used");
        for directory in [&unmarked, &used] {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(UNMARKED)).unwrap();
        }
        fs::write(used.join("file"), "").unwrap();
        let first = TrialDirectory::beside(&file, 1, &given).unwrap();
        assert!(!leftover.exists() && mine.exists() && first.path().starts_with(place.path().canonicalize().unwrap()));
        let second = TrialDirectory::beside(&file, 1, &given).unwrap();
        assert!(first.path().join(MARK).exists(), "it is in use");
        assert!(!unmarked.exists() && used.join("file").exists());
        assert_eq!(first.path().metadata().unwrap().mode() & PERMISSION_BITS, 0o755, "everybody may enter it");
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
        for part in ["`/no such` cannot be used", "free, and 1.2 EB are required beside", "on other file systems"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
