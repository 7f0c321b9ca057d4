//! A file on its way: written where nobody sees it, named when it is whole.
//!
//! Best is a file without a name (`O_TMPFILE`): whoever writes it may be killed, and nothing is left. File systems that do
//! not know this (FAT, some network and layered ones) get a hidden name beside the target. So does a process without
//! `/proc`, because the way to name an open file leads through it: `linkat` with `AT_EMPTY_PATH` is for privileged callers.
//!
//! What a newcomer would not guess: nobody may have it open for writing when it gets its name, or whoever starts the new
//! program in that instant is told `ETXTBSY`. So there are two descriptors, and the writing one is closed before.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use rustix::io::Errno;
use tempfile::{Builder, TempPath};

use super::leftovers::{RANDOM_LETTERS, hold, still_has, temporary_prefix};

/// How often a file with a temporary name is made anew if somebody removes it at once.
const ATTEMPTS: usize = 8;

/// A new file beside its target, for its owner's eyes only.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// Open for reading and writing, until it is named.
    writer: Option<File>,
    /// Open for reading; it holds the lock.
    file: File,
    directory: PathBuf,
    prefix: std::ffi::OsString,
    place: Place,
}

/// Under which name the file stands.
#[derive(Debug)]
enum Place {
    /// None: it vanishes when it is closed.
    Unnamed,
    /// A temporary one, which is removed with this value.
    Temporary(TempPath),
    /// Its own.
    Final,
}

impl StagedFile {
    /// Makes an empty file of mode 0600 in `directory`, which will be called `name`.
    pub(super) fn create(directory: &Path, name: &OsStr) -> io::Result<Self> {
        let prefix = temporary_prefix(name);
        let (writer, file, place) = match unnamed(directory)? {
            Some((writer, file)) => (writer, file, Place::Unnamed),
            None => temporary(directory, &prefix)?,
        };
        Ok(Self { writer: Some(writer), file, directory: directory.to_owned(), prefix, place })
    }

    /// The file, open for writing until it is named, and for reading.
    pub(super) fn file(&self) -> &File {
        self.writer.as_ref().unwrap_or(&self.file)
    }

    /// Gives it its name, which must be free.
    ///
    /// # Errors
    /// `AlreadyExists`; then, as after every error, it can be tried again.
    pub(super) fn name_new(&mut self, path: &Path) -> io::Result<()> {
        self.writer = None;
        match std::mem::replace(&mut self.place, Place::Unnamed) {
            Place::Unnamed => link_open_file(&self.file, path)?,
            Place::Temporary(temporary) => {
                if let Err(failed) = temporary.persist_noclobber(path) {
                    self.place = Place::Temporary(failed.path);
                    return Err(failed.error);
                }
            }
            Place::Final => {}
        }
        self.place = Place::Final;
        Ok(())
    }

    /// Gives it its name, in place of the file that has it.
    pub(super) fn name_over(&mut self, path: &Path) -> io::Result<()> {
        self.writer = None;
        let temporary = match std::mem::replace(&mut self.place, Place::Unnamed) {
            Place::Unnamed => {
                // From here until it is renamed the name is seen, so from here it must be seen that somebody holds it.
                let _ = hold(&self.file);
                let named = builder(&self.prefix).make_in(&self.directory, |path| link_open_file(&self.file, path))?;
                named.into_temp_path()
            }
            Place::Temporary(temporary) => temporary,
            Place::Final => return Ok(()),
        };
        // If this fails, the temporary name goes away with the error.
        temporary.persist(path).map_err(|failed| failed.error)?;
        self.place = Place::Final;
        Ok(())
    }
}

/// Gives an open file one more name.
///
/// # Errors
/// `AlreadyExists`; `NotFound` without `/proc`; `EPERM` where `fs.protected_hardlinks` forbids it.
pub(super) fn link_open_file(file: &File, path: &Path) -> io::Result<()> {
    Ok(linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A file without a name, for writing and for reading; `None` where it could not be made or not be named later.
fn unnamed(directory: &Path) -> io::Result<Option<(File, File)>> {
    match open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
        Ok(writer) => {
            let writer = File::from(writer);
            let reader = File::open(descriptor_path(&writer)).ok();
            Ok(reader.map(|reader| (writer, reader)))
        }
        // Not known: to the file system, to the kernel in three ways of saying so (see open(2), BUGS), to a FUSE server.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn temporary(directory: &Path, prefix: &OsStr) -> io::Result<(File, File, Place)> {
    for _ in 0..ATTEMPTS {
        let (writer, path) = builder(prefix).tempfile_in(directory)?.into_parts();
        // Between its making and the lock somebody who cleans up may have taken it for abandoned.
        let Ok(file) = File::open(&path) else { continue };
        // Network file systems lock for writers only; there the lock goes an instant early, with the writer.
        let held = hold(&file).or_else(|_| hold(&writer));
        if held.unwrap_or(true) && still_has(&path, &file) {
            return Ok((writer, file, Place::Temporary(path)));
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "somebody removes the temporary file again and again"))
}

fn builder(prefix: &OsStr) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM_LETTERS).permissions(Permissions::from_mode(0o600));
    builder
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn stage(directory: &Path, place: fn(&Path) -> Option<(File, File, Place)>) -> Option<StagedFile> {
        let (writer, file, place) = place(directory)?;
        let prefix = temporary_prefix(OsStr::new("program"));
        Some(StagedFile { writer: Some(writer), file, directory: directory.to_owned(), prefix, place })
    }

    fn with_no_name(directory: &Path) -> Option<(File, File, Place)> {
        unnamed(directory).unwrap().map(|(writer, file)| (writer, file, Place::Unnamed))
    }

    fn with_a_name(directory: &Path) -> Option<(File, File, Place)> {
        Some(temporary(directory, &temporary_prefix(OsStr::new("program"))).unwrap())
    }

    /// Another test's thread that forks has our descriptors until its child runs, so "busy" is asked again.
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
        for place in [with_no_name, with_a_name] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("program");
            for _ in 0..2 {
                let Some(mut staged) = stage(directory.path(), place) else { continue };
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
            }
        }
    }

    #[test]
    fn a_file_that_gets_no_name_is_gone() {
        for place in [with_no_name, with_a_name] {
            let directory = tempfile::tempdir().unwrap();
            let Some(mut staged) = stage(directory.path(), place) else { continue };
            staged.file().write_all(b"half").unwrap();
            std::fs::create_dir(directory.path().join("in the way")).unwrap();
            assert!(staged.name_over(&directory.path().join("in the way")).is_err());
            drop(staged);
            drop(stage(directory.path(), place));
            assert_eq!(names(directory.path()), ["in the way"]);
        }
    }

    #[test]
    fn who_cleans_up_leaves_a_file_that_is_being_written() {
        let directory = tempfile::tempdir().unwrap();
        let staged = stage(directory.path(), with_a_name).unwrap();
        assert_eq!(super::super::remove_leftovers(directory.path()).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(names(directory.path()).len(), 1);
        drop(staged);
    }
}
