//! Opening a file by a path from a user, a plan, a trace or another file, without side effects if it is not a regular file.
//!
//! Opening alone can have effects: it wakes the writer of a FIFO, which then dies of `SIGPIPE`, it starts a watchdog, rewinds a
//! tape, mounts a file system or blocks for ever. So the path is looked up with `O_PATH` first, which opens nothing (open(2)),
//! and only a file of the right kind is then opened, through `/proc/self/fd`: the same file, even if the path was
//! reused. Where `/proc` cannot be used, the path is opened again, and must still refer to the same inode.
//!
//! Not obvious: the size is unreliable. Files of procfs have none, others grow while they are read. To
//! read a whole file, callers give a limit, and no more than the limit is ever in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, open, openat};
use rustix::io::Errno;

/// Major and minor number of `/dev/null` (Documentation/admin-guide/devices.txt).
const NULL_DEVICE: (u32, u32) = (1, 3);

/// The type of a file. It displays with its article: "a FIFO".
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
    /// A symbolic link, if not followed.
    SymbolicLink,
    /// A kernel object without a file type, such as an eventfd.
    Special,
}

impl InodeKind {
    /// From a file's mode (`st_mode`).
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

/// Why an existing file cannot be used. Carried inside an [`io::Error`], with its advice.
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
    #[error("it is larger than {}, the limit for this kind of file", Bytes(*.limit))]
    TooLarge {
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// `ResourceBusy` as an [`io::ErrorKind`].
    #[error("another file replaced it while it was being opened")]
    Replaced,
}

impl NotUsable {
    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotRegular { kind: InodeKind::Fifo | InodeKind::Socket } => {
                "save its output to a file first, and name that file"
            }
            Self::NotRegular { kind: InodeKind::Directory } => "name a file in it",
            Self::NotRegular { .. } => "name a regular file; this one was not opened",
            Self::NotDirectory { .. } => return None,
            Self::TooLarge { .. } => "check that it is the right file",
            Self::Replaced => "try again when no other process is replacing it",
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

/// A limit in bytes, as text.
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

/// Whether a symbolic link in the last component of a path is followed. Others always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// The link's target is the file.
    Follow,
    /// The link itself is the file, which cannot be opened.
    Keep,
}

/// A file that was looked up but not opened, so without side effects.
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

    /// A file that was looked up by other means; `handle` was opened with `O_PATH`.
    ///
    /// # Errors
    /// The kernel's answer to `fstat`.
    pub fn of_handle(handle: OwnedFd) -> io::Result<Self> {
        let stat = fstat(&handle)?;
        Ok(Self { handle, stat, name: None })
    }

    /// Its type.
    pub fn kind(&self) -> InodeKind {
        InodeKind::of_mode(self.stat.st_mode)
    }

    /// The result of `fstat` at the look-up.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Fails unless it is a regular file.
    ///
    /// # Errors
    /// [`NotUsable::NotRegular`].
    pub fn regular(self) -> io::Result<Self> {
        match self.kind() {
            InodeKind::Regular => Ok(self),
            kind => Err(NotUsable::NotRegular { kind }.into()),
        }
    }

    /// Fails unless it is a directory.
    ///
    /// # Errors
    /// [`NotUsable::NotDirectory`].
    pub fn directory(self) -> io::Result<Self> {
        match self.kind() {
            InodeKind::Directory => Ok(self),
            kind => Err(NotUsable::NotDirectory { kind }.into()),
        }
    }

    /// Opens it for reading, with `O_NONBLOCK`. The caller has checked its type. Also returns the current `fstat`.
    ///
    /// # Errors
    /// The kernel's answer; [`NotUsable::Replaced`].
    pub fn open(&self, flags: OFlags) -> io::Result<(File, Stat)> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open(coldstart_host::descriptor::path(&self.handle), flags, Mode::empty());
        let file = match (opened, self.name) {
            // No usable /proc. For an unreadable file the error is the same again.
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

    /// As [`Self::open`]; reading does not change the access time where that is permitted.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_quietly(&self) -> io::Result<(File, Stat)> {
        // Only the owner may use O_NOATIME.
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

/// Reads a whole regular file of at most `limit` bytes, also one without a size, as in procfs.
///
/// All of it is asked for at once: the kernel would begin with 16 KiB and wait for each of its growing reads, which takes
/// four latencies of the disk for a file of 100 KiB.
///
/// # Errors
/// As [`open_regular`]; [`NotUsable::TooLarge`], also when it grows while it is read; `OutOfMemory`.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, stat) = NamedFile::find(path, LastLink::Follow)?.regular()?.open(OFlags::empty())?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if let Some(size) = NonZeroU64::new(size).filter(|size| size.get() <= limit) {
        // Only advice: without it the file is read all the same.
        let _ = rustix::fs::fadvise(&file, 0, Some(size), rustix::fs::Advice::WillNeed);
    }
    read_to_limit(file, size, limit)
}

/// As [`read_regular`], with the open file.
///
/// # Errors
/// As [`read_regular`].
pub fn read_and_keep(path: &Path, limit: u64) -> io::Result<(File, Vec<u8>)> {
    let (file, stat) = NamedFile::find(path, LastLink::Follow)?.regular()?.open(OFlags::empty())?;
    let bytes = read_to_limit(&file, u64::try_from(stat.st_size).unwrap_or(0), limit)?;
    Ok((file, bytes))
}

/// Reads an open file from its current offset to its end, about `size` bytes.
///
/// # Errors
/// [`NotUsable::TooLarge`] beyond `limit` bytes; the kernel's answer; `OutOfMemory`.
pub fn read_to_limit(file: impl Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(NotUsable::TooLarge { limit }.into());
    }
    let mut bytes = Vec::new();
    // One byte more than expected: the end is then found without reallocation.
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

/// Opens a program's standard input: a regular file, from its beginning, or `/dev/null`.
///
/// A pipe can be read once, so the next start would find it empty. `/dev/stdin` stands for its target.
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
    // The program did not request it.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Fails unless a path refers to a directory; the error names its type.
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
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fifo(&at("fifo"));
        symlink("fifo", at("link")).unwrap();
        for (path, kind, said) in [
            (at("fifo"), InodeKind::Fifo, "it is a FIFO, not a regular file"),
            (at("link"), InodeKind::Fifo, "it is a FIFO, not a regular file"),
            (directory.path().to_owned(), InodeKind::Directory, "it is a directory, not a regular file"),
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
        check_directory(directory.path()).unwrap();
        let link = at("link");
        assert_eq!(NamedFile::find(&link, LastLink::Keep).unwrap().kind(), InodeKind::SymbolicLink);
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read_beginning(&path, 3).unwrap(), b"012");
        let error = read_regular(&path, 9).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 9 bytes, the limit for this kind of file");
        // A sparse file of 8 TiB takes no memory.
        File::create(&path).unwrap().set_len(1 << 43).unwrap();
        let error = read_regular(&path, 64 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 64 MiB, the limit for this kind of file");
        // One that says it is empty, and is not.
        let maps = Path::new(coldstart_host::process::own::MAPS);
        assert!(!read_regular(maps, 1 << 20).unwrap().is_empty());
        assert_eq!(reason(&read_regular(maps, 9).unwrap_err()), NotUsable::TooLarge { limit: 9 });
        assert_eq!(reason(&read_to_limit(io::repeat(0), 0, 4096).unwrap_err()), NotUsable::TooLarge { limit: 4096 });
    }

    #[test]
    fn the_file_that_was_looked_at_is_opened_whatever_its_path_means_by_then() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
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
