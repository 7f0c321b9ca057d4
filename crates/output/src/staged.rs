//! A staged file: invisible while it is written, named when it is complete.
//!
//! Best is a file without a name (`O_TMPFILE`): if the writer is killed, nothing is left. File systems without
//! support for it (FAT, some network and stacked ones) get a hidden name beside the target. So does a process without
//! `/proc`, because naming an open file requires it: `linkat` with `AT_EMPTY_PATH` is for privileged callers.
//!
//! A file with a temporary name carries our mark (`mark.rs`), by which the next run removes it after a kill.
//!
//! Not obvious: no process may have the file open for writing when it gets its name, or executing the new
//! program in that instant fails with `ETXTBSY`. So there are two descriptors, and the writing one is closed before.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use coldstart_host::descriptor;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, linkat, lstat, open};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::held::HeldDirectory;
use crate::leftovers::{RANDOM_LETTERS, hold, temporary_prefix};
use crate::mark::{can_be_unmarked_later, mark, unmark};

/// How often creating a file with a temporary name is retried if another process removes it at once.
const ATTEMPTS: usize = 8;

/// A new file beside its target.
#[derive(Debug)]
pub struct StagedFile {
    /// Open for reading and writing, until it is named.
    writer: Option<File>,
    /// Open for reading; it holds the lock.
    file: File,
    directory: PathBuf,
    prefix: std::ffi::OsString,
    place: Place,
    /// Whether it carries our mark.
    is_marked: bool,
    /// Keeps the path of its directory meaning that; dropped after the temporary name.
    _held: Option<HeldDirectory>,
}

/// The name of the file.
#[derive(Debug)]
enum Place {
    /// None: the file vanishes when it is closed.
    Unnamed,
    /// A temporary one, removed when this is dropped.
    Temporary(TempPath),
    /// Its final one.
    Final,
}

impl StagedFile {
    /// Creates an empty file in `directory`, to be called `name`. Its mode is `mode` without the bits of the umask (umask(2)).
    ///
    /// # Errors
    /// The file system's error.
    pub fn create(directory: &Path, name: &OsStr, mode: u32) -> io::Result<Self> {
        match unnamed(directory, mode)? {
            Some((writer, file)) => {
                let prefix = temporary_prefix(name);
                let directory = directory.to_owned();
                Ok(Self {
                    writer: Some(writer),
                    file,
                    directory,
                    prefix,
                    place: Place::Unnamed,
                    is_marked: false,
                    _held: None,
                })
            }
            None => Self::create_named(directory, name, mode),
        }
    }

    /// As [`Self::create`], with a temporary name from the start, for writers that open files by name.
    ///
    /// # Errors
    /// The file system's error.
    pub fn create_named(directory: &Path, name: &OsStr, mode: u32) -> io::Result<Self> {
        let prefix = temporary_prefix(name);
        let (writer, file, place) = temporary(directory, &prefix, mode)?;
        let is_marked = mark(&file).is_ok();
        Ok(Self { writer: Some(writer), file, directory: directory.to_owned(), prefix, place, is_marked, _held: None })
    }

    /// The same, in a directory that is held open as long as this is.
    pub(crate) fn held_by(self, directory: &HeldDirectory) -> Self {
        Self { _held: Some(directory.clone()), ..self }
    }

    /// The file, open for reading, and for writing until it is named.
    pub fn file(&self) -> &File {
        self.writer.as_ref().unwrap_or(&self.file)
    }

    /// Its temporary name, if it has one.
    pub fn temporary_path(&self) -> Option<&Path> {
        match &self.place {
            Place::Temporary(path) => Some(path),
            Place::Unnamed | Place::Final => None,
        }
    }

    /// Closes it for writing under its temporary name, so that it can be executed by that name. The file is removed on drop.
    pub fn close_writer(&mut self) {
        self.writer = None;
    }

    /// Gives it its final name, which must be free.
    ///
    /// # Errors
    /// `AlreadyExists`; the call can be repeated after any error.
    pub fn name_new(&mut self, path: &Path) -> io::Result<()> {
        self.writer = None;
        match std::mem::replace(&mut self.place, Place::Unnamed) {
            Place::Unnamed => link_open_file(&self.file, path)?,
            Place::Temporary(temporary) => {
                self.unmark_read_only();
                if let Err(failed) = temporary.persist_noclobber(path) {
                    self.place = Place::Temporary(failed.path);
                    return Err(failed.error);
                }
            }
            Place::Final => {}
        }
        self.is_final();
        Ok(())
    }

    /// Gives it its final name, replacing the existing file.
    ///
    /// # Errors
    /// The file system's error; the temporary name is gone then.
    pub fn name_over(&mut self, path: &Path) -> io::Result<()> {
        self.writer = None;
        let temporary = match std::mem::replace(&mut self.place, Place::Unnamed) {
            Place::Unnamed => {
                // From here until the rename the name is visible, so the lock must be held.
                let _ = hold(&self.file);
                self.is_marked = can_be_unmarked_later(&self.file) && mark(&self.file).is_ok();
                let named = named(&self.directory, &self.prefix, |path| link_open_file(&self.file, path))?;
                named.into_temp_path()
            }
            Place::Temporary(temporary) => {
                self.unmark_read_only();
                temporary
            }
            Place::Final => return Ok(()),
        };
        // If this fails, dropping the error removes the temporary name.
        temporary.persist(path).map_err(|failed| failed.error)?;
        self.is_final();
        Ok(())
    }

    /// It has its final name and needs no mark. In this order: a kill in between leaves a mark on a file with a final name,
    /// which has no effect, rather than a temporary name that no run may remove.
    fn is_final(&mut self) {
        self.place = Place::Final;
        if std::mem::take(&mut self.is_marked) {
            let _ = unmark(&self.file);
        }
    }

    /// Removes the mark while that is possible without a change of mode under the final name.
    fn unmark_read_only(&mut self) {
        if self.is_marked && !can_be_unmarked_later(&self.file) {
            let _ = unmark(&self.file);
            self.is_marked = false;
        }
    }
}

/// Whether the path still refers to this file.
pub fn still_has(path: &Path, file: &File) -> bool {
    fstat(file).is_ok_and(|own| lstat(path).is_ok_and(|found| (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)))
}

/// Gives an open file another name.
///
/// # Errors
/// `AlreadyExists`; `NotFound` without `/proc`; `EPERM` where `fs.protected_hardlinks` forbids it.
pub fn link_open_file(file: &File, path: &Path) -> io::Result<()> {
    Ok(linkat(CWD, descriptor::path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// A file without a name, for writing and for reading; `None` where it cannot be created or named later.
fn unnamed(directory: &Path, mode: u32) -> io::Result<Option<(File, File)>> {
    match open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(mode)) {
        Ok(writer) => {
            let writer = File::from(writer);
            let reader = File::open(descriptor::path(&writer)).ok();
            Ok(reader.map(|reader| (writer, reader)))
        }
        // Not supported: by the file system, by the kernel with three different errors (see open(2), BUGS), by a FUSE server.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn temporary(directory: &Path, prefix: &OsStr, mode: u32) -> io::Result<(File, File, Place)> {
    for _ in 0..ATTEMPTS {
        let mut create = OpenOptions::new();
        create.read(true).write(true).create_new(true).mode(mode);
        let (writer, path) = named(directory, prefix, |path| create.open(path))?.into_parts();
        // Between creation and lock, another process's clean-up may have taken it for abandoned.
        let Ok(file) = File::open(&path) else { continue };
        // Network file systems lock for writers only; there the lock is released slightly early, with the writer.
        let held = hold(&file).or_else(|_| hold(&writer));
        if held.unwrap_or(true) && still_has(&path, &file) {
            return Ok((writer, file, Place::Temporary(path)));
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process keeps removing the temporary file"))
}

/// What `make` makes under a temporary name.
fn named<T>(
    directory: &Path,
    prefix: &OsStr,
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<NamedTempFile<T>> {
    let mut errno = None;
    let made = Builder::new()
        .prefix(prefix)
        .rand_bytes(RANDOM_LETTERS)
        .make_in(directory, |path| make(path).inspect_err(|error| errno = error.raw_os_error()));
    // Without the path that `tempfile` adds: a directory that is held open has one in `/proc`.
    made.map_err(|error| errno.map_or(error, io::Error::from_raw_os_error))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_error_is_the_systems_own() {
        for directory in ["/proc", "/sys", "/nowhere"] {
            let error = StagedFile::create(Path::new(directory), OsStr::new("file"), 0o644).unwrap_err();
            assert!(error.raw_os_error().is_some() && !error.to_string().contains("path"), "{error}");
        }
    }

    type Way = fn(&Path) -> io::Result<StagedFile>;

    fn with_no_name(directory: &Path) -> io::Result<StagedFile> {
        StagedFile::create(directory, OsStr::new("program"), 0o600)
    }

    fn with_a_name(directory: &Path) -> io::Result<StagedFile> {
        StagedFile::create_named(directory, OsStr::new("program"), 0o600)
    }

    const WAYS: [Way; 2] = [with_no_name, with_a_name];

    /// Another test's thread that forks has our descriptors until its child runs, so "busy" is retried.
    fn can_be_started(path: &Path) -> bool {
        (0..50).any(|_| match std::process::Command::new(path).status() {
            Ok(status) => status.success(),
            Err(_) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                false
            }
        })
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn both_ways_a_file_gets_a_free_name_or_anothers_and_can_be_started_at_once() {
        for stage in WAYS {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("program");
            for _ in 0..2 {
                let mut staged = stage(directory.path()).unwrap();
                std::io::copy(&mut File::open("/bin/true").unwrap(), &mut staged.file()).unwrap();
                rustix::fs::fchmod(staged.file(), Mode::from_raw_mode(0o755)).unwrap();
                match staged.name_new(&path) {
                    Ok(()) => {}
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
                        staged.name_over(&path).unwrap();
                    }
                }
                // While the staged file is still open here.
                assert!(can_be_started(&path));
                assert_eq!(names(directory.path()), ["program"]);
                assert!(!crate::mark::is_marked(&File::open(&path).unwrap()).unwrap_or(false), "the mark stays");
            }
        }
    }

    #[test]
    fn a_file_that_gets_no_name_is_gone() {
        for stage in WAYS {
            let directory = tempfile::tempdir().unwrap();
            let mut staged = stage(directory.path()).unwrap();
            staged.file().write_all(b"half").unwrap();
            std::fs::create_dir(directory.path().join("in the way")).unwrap();
            assert!(staged.name_over(&directory.path().join("in the way")).is_err());
            drop(staged);
            drop(stage(directory.path()).unwrap());
            assert_eq!(names(directory.path()), ["in the way"]);
        }
    }

    #[test]
    fn who_cleans_up_leaves_a_file_that_is_being_written() {
        let directory = tempfile::tempdir().unwrap();
        let staged = with_a_name(directory.path()).unwrap();
        assert_eq!(crate::remove_leftovers(directory.path()).unwrap(), crate::Leftovers::default());
        assert_eq!(names(directory.path()).len(), 1);
        drop(staged);
    }
}
