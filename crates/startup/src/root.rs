//! A root directory: this host's `/`, or a sysroot in which every path stays inside.
//!
//! In a sysroot the kernel resolves each path (`openat2` with `RESOLVE_IN_ROOT`, Linux 5.6), so that no symbolic link can
//! escape. If that call is missing or forbidden, `stepwise.rs` walks from directory to directory instead; [`Root::lookup`]
//! returns the method in use.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_loader::Identity;
use coldstart_loader::cache::{DirectorySource, Library, Listed, NoLibrary};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{LastLink, NamedFile, NotUsable, check_directory, read_to_limit};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::stepwise;

/// Maximum retries after `EAGAIN`, which the kernel returns for a path with `..` after a rename anywhere on the host.
const TRIES: u32 = 32;

/// A root directory. Paths are as seen from inside; in a sysroot, relative ones begin at its root.
#[derive(Debug)]
pub struct Root {
    sysroot: Option<Sysroot>,
}

#[derive(Debug)]
struct Sysroot {
    /// As given, made absolute.
    given: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
    directory: OwnedFd,
    lookup: Lookup,
}

/// How paths are resolved in a sysroot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// By the kernel, with one call per path.
    Kernel,
    /// Component by component, because `openat2` is missing or forbidden. As safe, but slower.
    Stepwise,
}

/// Why a directory cannot be used as the root.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the sysroot `{}`", directory.display())]
pub struct RootError {
    /// The directory as given.
    pub directory: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

impl Root {
    /// This host's own root.
    pub fn host() -> Self {
        Self { sysroot: None }
    }

    /// The root of a sysroot, or this host's.
    ///
    /// # Errors
    /// If it is not a directory, or cannot be entered.
    pub fn open(sysroot: Option<&Path>) -> Result<Self, RootError> {
        Self::open_by(sysroot, None)
    }

    /// The same with a given lookup method; by default `openat2` if available.
    pub(crate) fn open_by(sysroot: Option<&Path>, lookup: Option<Lookup>) -> Result<Self, RootError> {
        let Some(given) = sysroot else { return Ok(Self::host()) };
        let failed = |source| RootError { directory: given.to_owned(), source };
        check_directory(given).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(given, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let lookup = lookup.unwrap_or_else(|| {
            match rustix::fs::openat2(&directory, ".", flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                // A seccomp filter may return ENOSYS, as an old kernel does, or EPERM.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Lookup::Stepwise,
                _ => Lookup::Kernel,
            }
        });
        let sysroot = Sysroot {
            given: std::path::absolute(given).map_err(failed)?,
            real: given.canonicalize().map_err(failed)?,
            directory,
            lookup,
        };
        Ok(Self { sysroot: Some(sysroot) })
    }

    /// The sysroot's path without symbolic links; `None` for this host's root.
    pub fn sysroot(&self) -> Option<&Path> {
        self.sysroot.as_ref().map(|sysroot| sysroot.real.as_path())
    }

    /// The sysroot's path as given, made absolute; `None` for this host's root.
    pub fn given_sysroot(&self) -> Option<&Path> {
        self.sysroot.as_ref().map(|sysroot| sysroot.given.as_path())
    }

    /// How paths are resolved; `None` for this host's root, where paths are opened directly.
    pub fn lookup(&self) -> Option<Lookup> {
        self.sysroot.as_ref().map(|sysroot| sysroot.lookup)
    }

    /// The absolute path as seen from inside: in a sysroot relative paths begin at its root, on this host in the current
    /// directory.
    ///
    /// # Errors
    /// If there is no current directory.
    pub fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        match &self.sysroot {
            Some(_) => Ok(Path::new("/").join(path)),
            None => std::path::absolute(path),
        }
    }

    /// Converts a host path to a path as seen from inside; `None` for a path outside the sysroot. The path must not contain
    /// symbolic links.
    pub fn inside<'a>(&self, host: &'a Path) -> Option<Cow<'a, Path>> {
        match &self.sysroot {
            None => Some(Cow::Borrowed(host)),
            Some(sysroot) => Some(Cow::Owned(Path::new("/").join(host.strip_prefix(&sysroot.real).ok()?))),
        }
    }

    /// Opens a path, following links. `O_PATH` avoids blocking on a FIFO or device.
    fn open_at(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let Some(sysroot) = &self.sysroot else { return Ok(rustix::fs::open(path, flags, Mode::empty())?) };
        if sysroot.lookup == Lookup::Kernel {
            let inside = |root| rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
            for _ in 0..TRIES {
                match inside(sysroot.directory.as_fd()) {
                    Err(Errno::AGAIN) => {}
                    answer => return Ok(answer?),
                }
            }
        }
        stepwise::find(sysroot.directory.as_fd(), path)?.open(flags)
    }

    /// Looks up a path, following symbolic links, without opening the file.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn find<'a>(&'a self, path: &'a Path) -> io::Result<NamedFile<'a>> {
        match &self.sysroot {
            None => NamedFile::find(path, LastLink::Follow),
            Some(_) => NamedFile::of_handle(self.open_at(path, OFlags::PATH)?),
        }
    }

    /// Opens a regular file, and returns its `fstat` data.
    ///
    /// # Errors
    /// [`NotUsable`] if it is not a regular file; the kernel's error.
    pub fn open_regular(&self, path: &Path) -> io::Result<(File, Stat)> {
        let found = self.find(path)?.regular()?;
        match found.open(OFlags::empty()) {
            Err(error) if self.sysroot.is_some() && is_without_proc(&error) => {
                let again = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
                let stat = rustix::fs::fstat(&again)?;
                if (stat.st_dev, stat.st_ino) != (found.stat().st_dev, found.stat().st_ino) {
                    return Err(NotUsable::Replaced.into());
                }
                Ok((File::from(again), stat))
            }
            opened => opened,
        }
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Self::open_regular`]; [`NotUsable::TooLarge`].
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let (file, stat) = self.open_regular(path)?;
        read_to_limit(file, u64::try_from(stat.st_size).unwrap_or(0), limit)
    }

    /// Maps a regular file.
    ///
    /// # Errors
    /// As [`Self::open_regular`]; the error of `mmap`.
    pub fn map(&self, path: &Path) -> io::Result<FileView> {
        FileView::map(self.open_regular(path)?.0)
    }

    /// The identity of the file or directory at a path.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn identity(&self, path: &Path) -> io::Result<Identity> {
        if self.sysroot.is_none() {
            let metadata = path.metadata()?;
            return Ok(Identity { device: metadata.dev(), inode: metadata.ino() });
        }
        Ok(identity(self.find(path)?.stat()))
    }

    /// Whether a path is a directory.
    pub fn is_directory(&self, path: &Path) -> bool {
        match self.sysroot {
            None => path.is_dir(),
            Some(_) => self.open_at(path, OFlags::PATH | OFlags::DIRECTORY).is_ok(),
        }
    }

    /// Whether a path is a regular file.
    pub fn is_regular(&self, path: &Path) -> bool {
        self.find(path).and_then(NamedFile::regular).is_ok()
    }

    /// Checks that a path is a directory; the error states the actual file type.
    ///
    /// # Errors
    /// [`NotUsable::NotDirectory`], or the kernel's error.
    pub fn check_directory(&self, path: &Path) -> io::Result<()> {
        self.find(path)?.directory().map(|_| ())
    }

    /// An absolute path without symbolic links, as seen from inside.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        match &self.sysroot {
            None => path.canonicalize(),
            // The kernel would return the host's path, possibly marked as deleted; the walk knows the names.
            Some(sysroot) => Ok(stepwise::find(sysroot.directory.as_fd(), path)?.real_path()),
        }
    }

    /// The names in a directory with their file types, without following symbolic links.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn list_directory(&self, path: &Path) -> io::Result<Vec<(Vec<u8>, Listed)>> {
        let directory = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == rustix::fs::FileType::Unknown {
                let status = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                kind = rustix::fs::FileType::from_raw_mode(status.st_mode);
            }
            let listed = match kind {
                rustix::fs::FileType::RegularFile => Listed::File,
                rustix::fs::FileType::Symlink => Listed::Link,
                rustix::fs::FileType::Directory => Listed::Directory,
                _ => Listed::Other,
            };
            names.push((name.to_bytes().to_vec(), listed));
        }
        Ok(names)
    }
}

/// The file's identity.
pub(crate) fn identity(stat: &Stat) -> Identity {
    Identity { device: stat.st_dev, inode: stat.st_ino }
}

/// Whether the kernel's error may come from an unmounted /proc.
fn is_without_proc(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP))
}

impl DirectorySource for Root {
    fn directory_identity(&self, path: &[u8]) -> Option<Identity> {
        let found = self.find(as_path(path)).and_then(NamedFile::directory).ok()?;
        Some(identity(found.stat()))
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<(Vec<u8>, Listed)>> {
        self.list_directory(as_path(path))
    }

    fn library(&self, path: &[u8]) -> Result<Library, NoLibrary> {
        let view = self.map(as_path(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NoLibrary::Missing,
            io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => NoLibrary::NotElf,
            // A cycle of links.
            _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => NoLibrary::Missing,
            _ => NoLibrary::Unreadable(error.to_string()),
        })?;
        let library = Library::read(view.bytes());
        if view.shrank() {
            return Err(NoLibrary::Unreadable("the file was truncated while it was read".to_owned()));
        }
        library
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
