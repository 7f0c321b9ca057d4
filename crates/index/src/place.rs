//! The directory of an index: its content is made in a directory of a temporary name inside, and exchanged for the earlier one when it is
//! complete.
//!
//! Inside, and not beside: the index may lie in a directory of modules, such as the program's own, whose identity must not change any
//! more once it has been recorded. A program that has the old content open reads on from the removed files, or finds none and goes on
//! without.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use coldstart_host::descriptor;
use coldstart_output::flush_directory;
use coldstart_profile::printable;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, open, renameat_with};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use thiserror::Error;

use crate::manifest::{MANIFEST, Manifest, ManifestError};

/// The name of the content in an index.
pub const CURRENT: &str = "current";
/// In content that is being made: locked by the process that makes it, which tells a killed one.
const MAKING: &str = "coldstart-index-in-the-making";
/// Beginning of the name of content that is being made; the process's number and a count are behind it.
const PREFIX: &str = ".making-";

/// Why an index cannot be made at a place.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Something else is there.
    #[error("`{}` exists and is not an index made by coldstart", printable(.0))]
    Taken(PathBuf),
    /// The path names no directory that could be made.
    #[error("`{}` does not name a new directory", printable(.0))]
    NoName(PathBuf),
    /// The kernel's.
    #[error("cannot {doing} `{}`", printable(path))]
    Io {
        /// An infinitive.
        doing: &'static str,
        /// Of what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PlaceError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Taken(_) => Some("name a new directory with `-o`, or an earlier index".to_owned()),
            Self::NoName(_) => Some("name a new directory in an existing one with `-o`".to_owned()),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space, or name a directory on another file system with `-o`".to_owned())
            }
            Self::Io { source, path, .. } if source.kind() == io::ErrorKind::NotFound => {
                path.parent().map(|parent| format!("make the directory `{}` first", printable(parent)))
            }
            Self::Io { .. } => None,
        }
    }
}

coldstart_hint::hinted!(PlaceError);

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    move |source| PlaceError::Io { doing, path: path.to_owned(), source }
}

/// An index in the making. Dropped before [`finish`](Self::finish), it leaves nothing behind.
#[derive(Debug)]
pub struct IndexPlace {
    /// Absolute, without links but perhaps the last.
    target: PathBuf,
    staged: PathBuf,
    /// We made the target.
    is_new: bool,
    /// Locked.
    making: File,
}

impl IndexPlace {
    /// Begins an index at `target`: a free name, where a directory is made, an empty directory or an earlier index.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn begin(target: &Path) -> Result<Self, PlaceError> {
        let target = absolute(target)?;
        let is_new = match fs::DirBuilder::new().mode(0o755).create(&target) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed("make", &target)(error)),
        };
        let begun = Self::stage(&target);
        if begun.is_err() && is_new {
            let _ = fs::remove_dir(&target);
        }
        let (staged, making) = begun?;
        Ok(Self { target, staged, is_new, making })
    }

    fn stage(target: &Path) -> Result<(PathBuf, File), PlaceError> {
        if !is_ours(target).map_err(failed("read", target))? {
            return Err(PlaceError::Taken(target.to_owned()));
        }
        remove_leftovers(target);
        let staged = unused_name(target);
        fs::DirBuilder::new().mode(0o755).create(&staged).map_err(failed("make", &staged))?;
        let making = File::create_new(staged.join(MAKING)).map_err(failed("write below", &staged));
        if making.is_err() {
            remove_content(&staged);
        }
        let making = making?;
        // Some network file systems have no locks; a leftover then stays.
        let _ = flock(&making, FlockOperation::NonBlockingLockExclusive);
        Ok((staged, making))
    }

    /// Where the content is made.
    pub fn directory(&self) -> &Path {
        &self.staged
    }

    /// The index.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Writes a file of the content, and the directories that lead to it.
    ///
    /// # Errors
    /// [`PlaceError::Io`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
        let path = self.staged.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed("make", parent))?;
        }
        fs::write(&path, bytes).map_err(failed("write", &path))
    }

    /// Writes the manifest, and makes this the index's content.
    ///
    /// # Errors
    /// [`PlaceError`]. An earlier index is unchanged then.
    pub fn finish(mut self, manifest: &Manifest) -> Result<(), PlaceError> {
        let bytes = manifest.encode().map_err(|error| failed("write", &self.staged)(io::Error::other(error)))?;
        self.write(MANIFEST, &bytes)?;
        flush_below(&self.staged).map_err(failed("flush", &self.staged))?;
        fs::remove_file(self.staged.join(MAKING)).map_err(failed("remove a file below", &self.staged))?;
        let current = self.target.join(CURRENT);
        match renameat_with(CWD, &self.staged, CWD, &current, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => renameat_with(CWD, &self.staged, CWD, &current, RenameFlags::EXCHANGE),
            other => other,
        }
        .or_else(|errno| match errno {
            // Not every file system knows flags. For an instant there is no index then.
            Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => {
                let _ = fs::remove_dir_all(&current);
                rustix::fs::rename(&self.staged, &current)
            }
            errno => Err(errno),
        })
        .map_err(|errno| failed("name", &current)(errno.into()))?;
        self.is_new = false;
        let _ = flush_directory(&self.target, &self.making);
        // On dropping, the earlier content is removed, which has the temporary name now.
        Ok(())
    }
}

impl Drop for IndexPlace {
    fn drop(&mut self) {
        remove_content(&self.staged);
        if self.is_new {
            let _ = fs::remove_dir(&self.target);
        }
    }
}

/// The target with a real directory above it.
fn absolute(target: &Path) -> Result<PathBuf, PlaceError> {
    let name = target.file_name().ok_or_else(|| PlaceError::NoName(target.to_owned()))?;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(parent.canonicalize().map_err(failed("use", target))?.join(name))
}

/// Whether a directory has nothing but what we make in it.
fn is_ours(target: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(target) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let staged = target.join(&name);
        let is_staged = name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && (staged.join(MAKING).exists() || maker(&name).is_some() && (is_empty(&staged) || is_content(&staged)));
        // Also one that is damaged, or of another release.
        let is_other = || matches!(Manifest::read(target), Err(ManifestError::NotAnIndex | ManifestError::Io(_)));
        let is_current = || name == CURRENT && !is_other();
        if !is_staged && !is_current() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A name that nothing has.
fn unused_name(target: &Path) -> PathBuf {
    let at = |count: u32| target.join(format!("{PREFIX}{}.{count}", std::process::id()));
    (0..u32::MAX).map(at).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| at(0))
}

/// Removes what killed processes left: directories of such a name, with the file that such a process had locked.
fn remove_leftovers(target: &Path) {
    for entry in fs::read_dir(target).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(making) = File::open(entry.path().join(MAKING)) else {
            // Killed before it had made that file, or after it had removed it: nothing is in it, or whole content, the new or
            // the earlier one.
            if maker_is_gone(&entry.file_name()) {
                match is_content(&entry.path()) {
                    true => remove_content(&entry.path()),
                    false => drop(fs::remove_dir(entry.path())),
                }
            }
            continue;
        };
        if flock(&making, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove_content(&entry.path());
        }
    }
}

/// The process in the name of staged content.
fn maker(name: &OsStr) -> Option<Pid> {
    name.to_str()?.strip_prefix(PREFIX)?.split('.').next()?.parse().ok().and_then(Pid::from_raw)
}

fn maker_is_gone(name: &OsStr) -> bool {
    maker(name).is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// Whether a directory has the content of an index.
fn is_content(directory: &Path) -> bool {
    !matches!(Manifest::of(directory), Err(ManifestError::NotAnIndex | ManifestError::Io(_)))
}

/// Removes content. The files by which it is known as ours come last: whoever is killed here leaves what the next one removes.
fn remove_content(directory: &Path) {
    // By descriptor: another user's link that takes the name's place meanwhile is not followed.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(open) = open(directory, flags, Mode::empty()) {
        let inside = descriptor::path(&open);
        let is_known_by = |name: &OsStr| name == MANIFEST || name == MAKING;
        for entry in fs::read_dir(&inside).into_iter().flatten().flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                _ if is_known_by(&entry.file_name()) => {}
                true => drop(fs::remove_dir_all(entry.path())),
                false => drop(fs::remove_file(entry.path())),
            }
        }
        for name in [MANIFEST, MAKING] {
            let _ = fs::remove_file(inside.join(name));
        }
    }
    // What is left of it without `/proc`; a link itself.
    let _ = fs::remove_dir_all(directory);
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Waits until all below a directory is on the disk; tells a disk that is full only now.
fn flush_below(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => flush_below(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ahead::RemoteNames;

    fn empty() -> Manifest {
        Manifest { command: vec![b"x".to_vec()], languages: Vec::new(), remote: RemoteNames::default() }
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_index_appears_whole_and_replaces_an_earlier_one() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("i");
        for content in ["one", "two"] {
            let place = IndexPlace::begin(&target).unwrap();
            place.write("python/x", content.as_bytes()).unwrap();
            let before = fs::metadata(root.path()).unwrap().modified().unwrap();
            place.finish(&empty()).unwrap();
            assert_eq!(fs::read_to_string(target.join("current/python/x")).unwrap(), content);
            assert_eq!(
                fs::metadata(root.path()).unwrap().modified().unwrap(),
                before,
                "what is around it stays as it was"
            );
        }
        fs::write(target.join(CURRENT).join(MANIFEST), b"CSINDEX\0damaged").unwrap();
        drop(IndexPlace::begin(&target).unwrap());
        assert_eq!(names(root.path()), ["i"]);
        assert_eq!(names(&target), [CURRENT]);
        assert_eq!(names(&target.join(CURRENT)), [MANIFEST, "python"]);
    }

    #[test]
    fn what_is_not_ours_is_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let (file, full) = (root.path().join("file"), root.path().join("full"));
        fs::write(&file, "").unwrap();
        fs::create_dir(&full).unwrap();
        fs::write(full.join("precious"), "").unwrap();
        for taken in [&file, &full] {
            assert!(matches!(IndexPlace::begin(taken), Err(PlaceError::Taken(_))));
        }
        assert!(matches!(IndexPlace::begin(&root.path().join("..")), Err(PlaceError::NoName(_))));
        assert!(matches!(IndexPlace::begin(&root.path().join("no/i")), Err(PlaceError::Io { .. })));
        assert_eq!(names(root.path()), ["file", "full"]);
        assert_eq!(names(&full), ["precious"]);
    }

    #[test]
    fn given_up_it_leaves_nothing_and_a_killed_ones_leftovers_go() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("i");
        drop(IndexPlace::begin(&target).unwrap());
        assert_eq!(names(root.path()), Vec::<String>::new());
        let left = target.join(".making-99.0");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join(MAKING), "").unwrap();
        // Killed at once. No process has such a number (`PID_MAX_LIMIT`, include/linux/threads.h).
        fs::create_dir_all(target.join(".making-5000000.0")).unwrap();
        let other = IndexPlace::begin(&target).unwrap();
        let second = IndexPlace::begin(&target).unwrap();
        assert!(other.directory().exists() && other.directory() != second.directory(), "one in use stays");
        drop((other, second));
        assert_eq!(names(&target), Vec::<String>::new());
        // Killed before the new content was named, or while the earlier one was removed: it has no lock any more.
        let whole = target.join(".making-5000000.1");
        fs::create_dir_all(whole.join("python")).unwrap();
        fs::write(whole.join(MANIFEST), empty().encode().unwrap()).unwrap();
        drop(IndexPlace::begin(&target).unwrap());
        assert_eq!(names(&target), Vec::<String>::new());
        // A user's directory with such a name.
        fs::create_dir(target.join(".making-backup")).unwrap();
        assert!(matches!(IndexPlace::begin(&target), Err(PlaceError::Taken(_))));
        assert_eq!(names(&target), [".making-backup"]);
    }
}
