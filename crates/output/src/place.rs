//! The target of an output, and the rule that decides whether it may be written.
//!
//! The rule, for every output of every verb:
//!
//! - Never over a directory, a device, a pipe or a socket; never over a file that the same command reads, under any name.
//! - Over an earlier output of the same kind, recognised by its content; over an empty file; over a file with exactly the
//!   bytes to be written, for kinds without a mark of their own. Over anything else only with `--force`.
//! - A symbolic link is replaced; its target is untouched.
//! - In a world-writable directory, no file of another user is replaced and no link of another user is
//!   followed. That is the kernel's own rule for opening files there (`fs.protected_symlinks`, `fs.protected_regular`).
//! - Root is not led out of another user's directory by a link on the way (`held.rs`).
//!
//! It is checked before the long part of a command, and again right before the rename.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, lstat, open, stat, statfs};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::flush_directory;
use crate::error::{OutputError, OutputRefusal};
use crate::held::{HeldDirectory, is_sticky_for_all};
use crate::inputs::Inputs;
use crate::leftovers::remove_leftovers;
use crate::rights::keep_rights;
use crate::staged::{StagedFile, still_has};

/// Files are compared in portions of this many bytes.
const PORTION: usize = 1 << 16;
/// A new output's mode, before the umask: others may read it.
const MODE: u32 = 0o644;
/// The mode of a file until it has the mode of the file it replaces. A process that opened it earlier could read it from then on.
const OWN: u32 = 0o600;
/// As many links as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: usize = 40;

/// A kind of output, and how to recognise an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// With its article: "a page that coldstart wrote".
    pub name: &'static str,
    /// Whether a file, which is open for reading, is an earlier output of this kind.
    pub recognises: fn(&File) -> io::Result<bool>,
    /// Whether a file with exactly the bytes to be written counts as one, because not all files of the kind have a mark.
    pub same_bytes: bool,
}

/// The target of an output, and what it may replace.
#[derive(Clone, Debug)]
pub struct OutputTarget {
    path: PathBuf,
    directory: HeldDirectory,
    name: OsString,
    kind: OutputKind,
    force: bool,
    inputs: Inputs,
    /// The mode of a new file, before the umask.
    mode: u32,
}

/// How a file is staged: in a directory, for a name, with a mode.
type Create = fn(&Path, &OsStr, u32) -> io::Result<StagedFile>;

/// What exists at the target.
enum Existing {
    Nothing,
    /// A symbolic link, valid or dangling: it is replaced.
    Link,
    File(Stat),
}

impl OutputTarget {
    /// The target with this path. Existing files are not checked yet.
    ///
    /// # Errors
    /// When the path can only be that of a directory, or its parent directory is missing, unreachable, or reached through
    /// another user's link.
    pub fn new(path: &Path, kind: OutputKind, force: bool) -> Result<Self, OutputError> {
        let refused = |refusal| OutputError { path: path.to_owned(), refusal };
        let bytes = path.as_os_str().as_bytes();
        // `Path` would drop a trailing slash or dot, which means a directory.
        let is_file_name = !matches!(bytes.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."));
        let Some(name) = path.file_name().filter(|_| is_file_name) else {
            return Err(refused(OutputRefusal::Directory));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = HeldDirectory::find(parent).map_err(refused)?;
        Ok(Self {
            path: path.to_owned(),
            directory,
            name: name.to_owned(),
            kind,
            force,
            inputs: Inputs::default(),
            mode: MODE,
        })
    }

    /// The same target, which must not be one of these files.
    #[must_use]
    pub fn not_over(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }

    /// The same target, where a new file is readable by its owner only, because it contains command lines.
    #[must_use]
    pub fn private(self) -> Self {
        Self { mode: OWN, ..self }
    }

    /// Adds a file that it must not replace. See [`Inputs::add`].
    pub fn add_input(&mut self, what: impl Into<String>, path: &Path) {
        self.inputs.add(what, path);
    }

    /// Another target with the same rule.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn renamed(&self, path: &Path) -> Result<Self, OutputError> {
        let new = Self::new(path, self.kind, self.force)?;
        Ok(Self { inputs: self.inputs.clone(), mode: self.mode, ..new })
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its directory, without symbolic links: for people, and to be compared.
    pub fn directory(&self) -> &Path {
        self.directory.real()
    }

    /// Its directory for system calls of this process: the very directory that was found, also when its name leads elsewhere by now.
    pub fn sure_directory(&self) -> &Path {
        self.directory.sure()
    }

    /// The whole path for system calls of this process.
    pub fn sure_path(&self) -> PathBuf {
        self.sure_directory().join(&self.name)
    }

    /// Its name in the directory.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The whole path, without symbolic links in its directories.
    pub fn real_path(&self) -> PathBuf {
        self.directory().join(&self.name)
    }

    /// Whether both are the same name in the same directory, even if a directory is mounted twice.
    pub fn is_same_name(&self, other: &Self) -> bool {
        let number = |directory: &Path| stat(directory).map(|found| (found.st_dev, found.st_ino)).ok();
        self.name == other.name && {
            let own = number(self.sure_directory());
            own.is_some() && own == number(other.sure_directory())
        }
    }

    /// Checks that the output may be written, as far as possible without writing it. Changes nothing.
    ///
    /// # Errors
    /// The reason against it.
    pub fn check(&self) -> Result<(), OutputError> {
        self.look(None).map(drop)
    }

    /// Checks as [`Self::check`], and tries to create a file there. Leaves nothing behind.
    ///
    /// # Errors
    /// The reason against it.
    pub fn try_out(&self) -> Result<(), OutputError> {
        self.check()?;
        self.stage(OWN).map(drop).map_err(|error| self.failed(error))
    }

    /// Creates an empty file beside the target, to be called as that. Nothing is checked.
    ///
    /// # Errors
    /// The file system's error.
    pub fn stage(&self, mode: u32) -> io::Result<StagedFile> {
        self.stage_by(StagedFile::create, mode)
    }

    fn stage_by(&self, create: Create, mode: u32) -> io::Result<StagedFile> {
        Ok(create(self.sure_directory(), &self.name, mode)?.held_by(&self.directory))
    }

    /// Begins the output: an empty file, with the owner and mode of the file that it replaces, if there is one.
    ///
    /// # Errors
    /// The reason against it.
    pub fn begin(&self) -> Result<StagedFile, OutputError> {
        self.begin_by(StagedFile::create)
    }

    /// As [`Self::begin`], with a temporary name from the start.
    ///
    /// # Errors
    /// The reason against it.
    pub fn begin_named(&self) -> Result<StagedFile, OutputError> {
        self.begin_by(StagedFile::create_named)
    }

    fn begin_by(&self, create: Create) -> Result<StagedFile, OutputError> {
        // Errors do not matter here: removal is optional.
        let _ = remove_leftovers(self.sure_directory());
        match self.look(None)? {
            Existing::Nothing | Existing::Link => self.stage_by(create, self.mode),
            Existing::File(before) => self.stage_by(create, OWN).and_then(|staged| {
                keep_rights(&self.sure_path(), &before, staged.file())?;
                Ok(staged)
            }),
        }
        .map_err(|error| self.failed(error))
    }

    /// Flushes the output, checks once more, and renames it to the target.
    ///
    /// # Errors
    /// The reason against it.
    pub fn finish(&self, mut staged: StagedFile) -> Result<(), OutputError> {
        staged.file().sync_all().map_err(|error| self.failed(error))?;
        self.put(&mut staged)?;
        // The rename must be durable, too. A file system that cannot flush a directory has renamed all the same.
        let _ = flush_directory(self.sure_directory(), staged.file());
        Ok(())
    }

    /// Checks once more, and renames a complete and flushed file to the target.
    ///
    /// # Errors
    /// The reason against it.
    pub fn put(&self, staged: &mut StagedFile) -> Result<(), OutputError> {
        let path = self.sure_path();
        let named = match self.look(Some(staged.file()))? {
            Existing::Nothing => match staged.name_new(&path) {
                // Another process created it first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.look(Some(staged.file()))?;
                    staged.name_over(&path)
                }
                result => result,
            },
            Existing::Link | Existing::File(_) => staged.name_over(&path),
        };
        named.map_err(|error| self.failed(error))
    }

    /// Turns the system's error into the reason.
    pub fn failed(&self, error: io::Error) -> OutputError {
        self.refused(OutputRefusal::Io(error))
    }

    fn refused(&self, refusal: OutputRefusal) -> OutputError {
        OutputError { path: self.path.clone(), refusal }
    }

    /// The existing file, if it may be replaced: by `output`, if that is complete already.
    fn look(&self, output: Option<&File>) -> Result<Existing, OutputError> {
        let path = self.sure_path();
        let found = match lstat(&path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(Existing::Nothing),
            Err(errno) => return Err(self.failed(errno.into())),
        };
        if kind_of(&found) == FileType::Symlink {
            // `/dev/stdout` must stay, also where stdout is a regular file.
            if leads_to_descriptor(&path) {
                return Err(self.refused(OutputRefusal::Special));
            }
            if let Ok(led_to) = stat(&path) {
                self.check_file(&led_to)?;
            }
            self.check_owner(&found)?;
            return Ok(Existing::Link);
        }
        self.check_file(&found)?;
        self.check_owner(&found)?;
        if found.st_size > 0 && !self.force {
            match self.is_earlier(&path, output) {
                Ok(true) => {}
                Ok(false) => return Err(self.refused(OutputRefusal::NotEarlier(self.kind.name))),
                Err(error) => return Err(self.refused(OutputRefusal::Unreadable(error))),
            }
        }
        Ok(Existing::File(found))
    }

    /// A regular file that is not an input of the command.
    fn check_file(&self, found: &Stat) -> Result<(), OutputError> {
        match kind_of(found) {
            FileType::Directory => Err(self.refused(OutputRefusal::Directory)),
            FileType::RegularFile => match self.inputs.what(found) {
                Some(what) => Err(self.refused(OutputRefusal::Input(what.to_owned()))),
                None => Ok(()),
            },
            _ => Err(self.refused(OutputRefusal::Special)),
        }
    }

    fn check_owner(&self, found: &Stat) -> Result<(), OutputError> {
        let is_for_all = stat(self.sure_directory()).is_ok_and(|directory| is_sticky_for_all(&directory));
        if is_for_all && found.st_uid != geteuid().as_raw() {
            return Err(self.refused(OutputRefusal::OfAnotherUser));
        }
        Ok(())
    }

    fn is_earlier(&self, path: &Path, output: Option<&File>) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(open(path, flags, Mode::empty())?);
        let is_it = file.metadata()?.is_file()
            && ((self.kind.recognises)(&file)?
                || match (self.kind.same_bytes, output) {
                    (true, Some(output)) => are_same(&file, output)?,
                    // Unknown until the output is complete.
                    (true, None) => true,
                    (false, _) => false,
                });
        // It must still be the file that was checked.
        Ok(is_it && still_has(path, &file))
    }
}

/// Whether a link is, or leads to, one of the kernel's magic links to open files, as `/dev/stdout`.
fn leads_to_descriptor(link: &Path) -> bool {
    let mut link = link.to_owned();
    for _ in 0..MOST_LINKS {
        let directory = link.parent().unwrap_or(Path::new("/")).to_owned();
        if statfs(&directory).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC) {
            return true;
        }
        match std::fs::read_link(&link) {
            Ok(led_to) => link = directory.join(led_to),
            Err(_) => return false,
        }
    }
    false
}

fn kind_of(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Whether two files have the same content.
fn are_same(one: &File, other: &File) -> io::Result<bool> {
    let size = one.metadata()?.len();
    if size != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PORTION], vec![0; PORTION]);
    let mut position = 0_u64;
    while position < size {
        let length = usize::try_from(size.saturating_sub(position)).unwrap_or(PORTION).min(PORTION);
        let (Some(left), Some(right)) = (left.get_mut(..length), right.get_mut(..length)) else { return Ok(false) };
        one.read_exact_at(left, position)?;
        other.read_exact_at(right, position)?;
        if left != right {
            return Ok(false);
        }
        position = position.saturating_add(length as u64);
    }
    Ok(true)
}
