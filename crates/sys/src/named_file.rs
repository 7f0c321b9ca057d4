//! Opening a file that a user, a plan, a trace or another file names, without any effect on what is not such a file.
//!
//! Opening alone can have effects: it wakes the writer of a FIFO, who then dies of `SIGPIPE`, it starts a watchdog, rewinds a
//! tape, mounts a file system or waits for ever. So the path is looked up with `O_PATH` first, which opens nothing (open(2)),
//! and only a file of the right kind is then opened, by way of `/proc/self/fd`: that very file, whatever the path means by
//! then. Where `/proc` cannot be used, the path is opened again, and must still lead to the same inode.
//!
//! What a newcomer would not guess: a size tells little. Files of procfs have none, others grow while they are read. Whoever
//! reads a whole file gives a limit, and no more than the limit is ever in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, open, openat};
use rustix::io::Errno;

/// Major and minor number of `/dev/null` (Documentation/admin-guide/devices.txt).
const NULL_DEVICE: (u32, u32) = (1, 3);

/// What stands at a path. It displays with its article: "a FIFO".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A FIFO, or an unnamed pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A symbolic link that was not to be followed.
    SymbolicLink,
    /// A file of the kernel's without a type, such as an eventfd.
    Special,
}

impl InodeKind {
    /// The kind in a file's mode (`st_mode`).
    pub fn of_mode(mode: u32) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Symlink => Self::SymbolicLink,
            FileType::Unknown => Self::Special,
        }
    }
}

impl fmt::Display for InodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Regular => "a regular file",
            Self::Directory => "a directory",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::CharacterDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::SymbolicLink => "a symbolic link",
            Self::Special => "a special file",
        })
    }
}

/// Why a file that is there was not used. It travels inside an [`io::Error`], with its advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUsable {
    /// `IsADirectory` or `InvalidInput` as an [`io::ErrorKind`].
    #[error("it is {kind}, not a regular file")]
    NotRegular {
        /// What it is.
        kind: InodeKind,
    },
    /// `NotADirectory` as an [`io::ErrorKind`].
    #[error("it is {kind}, not a directory")]
    NotDirectory {
        /// What it is.
        kind: InodeKind,
    },
    /// `FileTooLarge` as an [`io::ErrorKind`].
    #[error("it is larger than {}, the limit for such a file", Bytes(*.limit))]
    TooLarge {
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// `ResourceBusy` as an [`io::ErrorKind`].
    #[error("another file took its place while it was opened")]
    Replaced,
}

impl NotUsable {
    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotRegular { kind: InodeKind::Fifo | InodeKind::Socket } => {
                "save what comes out of it to a file first, and name that file"
            }
            Self::NotRegular { kind: InodeKind::Directory } => "name a file in it",
            Self::NotRegular { .. } => "name a regular file; what is there was not opened",
            Self::NotDirectory { .. } => return None,
            Self::TooLarge { .. } => "check that it is the file that was meant",
            Self::Replaced => "try again when no other process replaces it",
        })
    }
}

coldstart_hint::hinted!(NotUsable);

impl From<NotUsable> for io::Error {
    fn from(reason: NotUsable) -> Self {
        let kind = match reason {
            NotUsable::NotRegular { kind: InodeKind::Directory } => io::ErrorKind::IsADirectory,
            NotUsable::NotRegular { .. } => io::ErrorKind::InvalidInput,
            NotUsable::NotDirectory { .. } => io::ErrorKind::NotADirectory,
            NotUsable::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            NotUsable::Replaced => io::ErrorKind::ResourceBusy,
        };
        Self::new(kind, reason)
    }
}

/// A number of bytes as a limit is written.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if bytes >= 1 << shift && bytes % (1 << shift) == 0 {
                return write!(formatter, "{} {unit}", bytes >> shift);
            }
        }
        write!(formatter, "{bytes} bytes")
    }
}

/// Whether a symbolic link in the last part of a path is followed. Others always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// It is, and what it leads to is the file.
    Follow,
    /// The link is the file, which cannot be opened.
    Keep,
}

/// A file that was looked up and not opened: nobody notices.
#[derive(Debug)]
pub struct NamedFile<'name> {
    handle: OwnedFd,
    stat: Stat,
    /// To open it again where `/proc` cannot be used.
    name: Option<(BorrowedFd<'name>, &'name Path, LastLink)>,
}

impl<'name> NamedFile<'name> {
    /// Looks up a path, relative to the working directory.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn find(path: &'name Path, last_link: LastLink) -> io::Result<Self> {
        Self::find_in(CWD, path, last_link)
    }

    /// Looks up a path, relative to an open directory.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn find_in(directory: BorrowedFd<'name>, path: &'name Path, last_link: LastLink) -> io::Result<Self> {
        let handle = openat(directory, path, OFlags::PATH | OFlags::CLOEXEC | link_flag(last_link), Mode::empty())?;
        let stat = fstat(&handle)?;
        Ok(Self { handle, stat, name: Some((directory, path, last_link)) })
    }

    /// A file that was looked up otherwise; `handle` was opened with `O_PATH`.
    ///
    /// # Errors
    /// The kernel's answer to `fstat`.
    pub fn of_handle(handle: OwnedFd) -> io::Result<Self> {
        let stat = fstat(&handle)?;
        Ok(Self { handle, stat, name: None })
    }

    /// What it is.
    pub fn kind(&self) -> InodeKind {
        InodeKind::of_mode(self.stat.st_mode)
    }

    /// What `fstat` told when it was looked up.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Goes on only with a regular file.
    ///
    /// # Errors
    /// [`NotUsable::NotRegular`].
    pub fn regular(self) -> io::Result<Self> {
        match self.kind() {
            InodeKind::Regular => Ok(self),
            kind => Err(NotUsable::NotRegular { kind }.into()),
        }
    }

    /// Goes on only with a directory.
    ///
    /// # Errors
    /// [`NotUsable::NotDirectory`].
    pub fn directory(self) -> io::Result<Self> {
        match self.kind() {
            InodeKind::Directory => Ok(self),
            kind => Err(NotUsable::NotDirectory { kind }.into()),
        }
    }

    /// Opens it for reading, with `O_NONBLOCK`. The caller has looked at its kind. Gives what `fstat` tells now, too.
    ///
    /// # Errors
    /// The kernel's answer; [`NotUsable::Replaced`].
    pub fn open(&self, flags: OFlags) -> io::Result<(File, Stat)> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open(coldstart_host::descriptor::path(&self.handle), flags, Mode::empty());
        let file = match (opened, self.name) {
            // No /proc here, or one that may not be used. Of a file that may not be read the answer is the same again.
            (Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP), Some((directory, path, last_link))) => {
                openat(directory, path, flags | link_flag(last_link), Mode::empty())?
            }
            (opened, _) => opened?,
        };
        let stat = fstat(&file)?;
        if (stat.st_dev, stat.st_ino) != (self.stat.st_dev, self.stat.st_ino)
            || InodeKind::of_mode(stat.st_mode) != self.kind()
        {
            return Err(NotUsable::Replaced.into());
        }
        Ok((File::from(file), stat))
    }

    /// As [`Self::open`]; reading it leaves its access time alone where that is permitted.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_quietly(&self) -> io::Result<(File, Stat)> {
        // Only an owner may leave the access time alone.
        self.open(OFlags::NOATIME).or_else(|_| self.open(OFlags::empty()))
    }
}

fn link_flag(last_link: LastLink) -> OFlags {
    if last_link == LastLink::Keep { OFlags::NOFOLLOW } else { OFlags::empty() }
}

/// Opens a regular file for reading, symbolic links followed.
///
/// # Errors
/// [`NotUsable::NotRegular`], [`NotUsable::Replaced`], or the kernel's answer.
pub fn open_regular(path: &Path) -> io::Result<File> {
    Ok(NamedFile::find(path, LastLink::Follow)?.regular()?.open(OFlags::empty())?.0)
}

/// Reads a whole regular file of at most `limit` bytes, also one that tells no size, as those of procfs.
///
/// # Errors
/// As [`open_regular`]; [`NotUsable::TooLarge`], also when it grows while it is read; `OutOfMemory`.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, stat) = NamedFile::find(path, LastLink::Follow)?.regular()?.open(OFlags::empty())?;
    read_to_limit(file, u64::try_from(stat.st_size).unwrap_or(0), limit)
}

/// Reads an open file from where it stands to its end, `size` bytes or so.
///
/// # Errors
/// [`NotUsable::TooLarge`] beyond `limit` bytes; the kernel's answer; `OutOfMemory`.
pub fn read_to_limit(file: impl Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(NotUsable::TooLarge { limit }.into());
    }
    let mut bytes = Vec::new();
    // One more than there is: the end is then found without more room.
    bytes.try_reserve_exact(usize::try_from(size).map_or(0, |size| size.saturating_add(1)))?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(NotUsable::TooLarge { limit }.into());
    }
    Ok(bytes)
}

/// Reads the first bytes of a regular file: `length` of them, or all there are.
///
/// # Errors
/// As [`open_regular`]; `OutOfMemory`.
pub fn read_beginning(path: &Path, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    open_regular(path)?.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens what a program is to read as its standard input: a regular file, from its beginning, or `/dev/null`.
///
/// A pipe gives its content once, and the next start would find it empty. `/dev/stdin` is what it leads to.
///
/// # Errors
/// As [`open_regular`].
pub fn open_input(path: &Path) -> io::Result<File> {
    let found = NamedFile::find(path, LastLink::Follow)?;
    let stat = found.stat();
    let is_null =
        found.kind() == InodeKind::CharacterDevice && (major(stat.st_rdev), minor(stat.st_rdev)) == NULL_DEVICE;
    let found = if is_null { found } else { found.regular()? };
    let (file, _) = found.open(OFlags::empty())?;
    // The program did not ask for it.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Whether a path leads to a directory; the error says what it is instead.
///
/// # Errors
/// [`NotUsable::NotDirectory`], or the kernel's answer.
pub fn check_directory(path: &Path) -> io::Result<()> {
    NamedFile::find(path, LastLink::Follow)?.directory().map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use rustix::fs::mknodat;

    use super::*;

    fn fifo(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    fn reason(error: &io::Error) -> NotUsable {
        *error.get_ref().unwrap().downcast_ref().unwrap()
    }

    #[test]
    fn only_regular_files_are_opened_and_the_error_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fifo(&at("fifo"));
        symlink("fifo", at("link")).unwrap();
        for (path, kind, said) in [
            (at("fifo"), InodeKind::Fifo, "it is a FIFO, not a regular file"),
            (at("link"), InodeKind::Fifo, "it is a FIFO, not a regular file"),
            (folder.path().to_owned(), InodeKind::Directory, "it is a directory, not a regular file"),
            ("/dev/zero".into(), InodeKind::CharacterDevice, "it is a character device, not a regular file"),
        ] {
            let errors = [
                open_regular(&path).unwrap_err(),
                read_regular(&path, 10).unwrap_err(),
                read_beginning(&path, 10).unwrap_err(),
                open_input(&path).unwrap_err(),
            ];
            for error in errors {
                assert_eq!((reason(&error), error.to_string().as_str()), (NotUsable::NotRegular { kind }, said));
                assert!(coldstart_hint::hint_of(&error).is_some());
            }
        }
        // Nobody has opened the FIFO for reading.
        let writing = open(at("fifo"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        assert_eq!(writing.unwrap_err(), Errno::NXIO);
        let error = check_directory(&at("fifo")).unwrap_err();
        assert_eq!(error.to_string(), "it is a FIFO, not a directory");
        check_directory(folder.path()).unwrap();
        let link = at("link");
        assert_eq!(NamedFile::find(&link, LastLink::Keep).unwrap().kind(), InodeKind::SymbolicLink);
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read_beginning(&path, 3).unwrap(), b"012");
        let error = read_regular(&path, 9).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 9 bytes, the limit for such a file");
        // A sparse file of 8 TiB takes no memory.
        File::create(&path).unwrap().set_len(1 << 43).unwrap();
        let error = read_regular(&path, 64 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 64 MiB, the limit for such a file");
        // One that says it is empty, and is not.
        let maps = Path::new(coldstart_host::process::own::MAPS);
        assert!(!read_regular(maps, 1 << 20).unwrap().is_empty());
        assert_eq!(reason(&read_regular(maps, 9).unwrap_err()), NotUsable::TooLarge { limit: 9 });
        assert_eq!(reason(&read_to_limit(io::repeat(0), 0, 4096).unwrap_err()), NotUsable::TooLarge { limit: 4096 });
    }

    #[test]
    fn the_file_that_was_looked_at_is_opened_whatever_its_path_means_by_then() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "first").unwrap();
        let path = at("a");
        let found = NamedFile::find(&path, LastLink::Follow).unwrap();
        std::fs::rename(&path, at("b")).unwrap();
        fifo(&path);
        let (mut file, stat) = found.open(OFlags::empty()).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), stat.st_size), ("first", 5));
    }

    #[test]
    fn an_input_is_read_from_its_beginning_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut written = File::create(&path).unwrap();
        written.write_all(b"words").unwrap();
        // As /dev/stdin would be, with its offset at the end.
        let by_descriptor = coldstart_host::descriptor::path(&written);
        for _ in 0..2 {
            let mut text = String::new();
            let mut input = open_input(&by_descriptor).unwrap();
            input.read_to_string(&mut text).unwrap();
            assert_eq!(text, "words");
            assert!(!fcntl_getfl(&input).unwrap().contains(OFlags::NONBLOCK));
        }
        assert_eq!(open_input(Path::new("/dev/null")).unwrap().read(&mut [0]).unwrap(), 0);
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let pipe = coldstart_host::descriptor::path(&reader);
        assert_eq!(open_input(&pipe).unwrap_err().to_string(), "it is a FIFO, not a regular file");
    }
}
