//! What a file of this machine is, as far as an image can hold it. No file is opened, except to find its holes.

use std::ffi::{CStr, OsString};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use coldstart_output::MARK;
use coldstart_sys::named_file::{LastLink, NamedFile};
use rustix::fs::{FileType, SeekFrom, Stat, lgetxattr, llistxattr, lstat, major, minor, readlink, seek};
use rustix::io::Errno;

use crate::entry::{Attributes, DeviceNumber, Timestamp, Xattr};

/// The largest list of names and the largest value of an attribute (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`), in bytes.
const LARGEST: usize = 1 << 16;

/// A file of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its attributes.
    pub attributes: Attributes,
    /// The kind of file.
    pub kind: DescribedKind,
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// `st_ctim`, in nanoseconds since 1970-01-01 UTC.
    pub changed: i64,
    /// Number of names.
    pub links: u64,
    /// Bytes that its blocks take on the disk: less than its size if it has holes.
    pub stored: u64,
}

/// Kind of a file of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescribedKind {
    /// A directory.
    Directory,
    /// A regular file of this size.
    Regular(u64),
    /// A symbolic link and its target.
    Symlink(OsString),
    /// A character device.
    CharacterDevice(DeviceNumber),
    /// A block device.
    BlockDevice(DeviceNumber),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

impl DescribedKind {
    /// In words: "a directory".
    pub fn words(&self) -> &'static str {
        match self {
            Self::Directory => "a directory",
            Self::Regular(_) => "a regular file",
            Self::Symlink(_) => "a symbolic link",
            Self::CharacterDevice(_) => "a character device",
            Self::BlockDevice(_) => "a block device",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
        }
    }
}

/// Looks at a file; a symbolic link is not followed.
///
/// # Errors
/// The system's error.
pub fn describe(path: &Path) -> io::Result<Described> {
    let stat = lstat(path)?;
    let number = DeviceNumber { major: major(stat.st_rdev), minor: minor(stat.st_rdev) };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => DescribedKind::Directory,
        FileType::RegularFile => DescribedKind::Regular(size),
        FileType::Symlink => {
            use std::os::unix::ffi::OsStringExt;
            DescribedKind::Symlink(OsString::from_vec(readlink(path, Vec::new())?.into_bytes()))
        }
        FileType::CharacterDevice => DescribedKind::CharacterDevice(number),
        FileType::BlockDevice => DescribedKind::BlockDevice(number),
        FileType::Fifo => DescribedKind::Fifo,
        FileType::Socket => DescribedKind::Socket,
        FileType::Unknown => return Err(io::Error::new(io::ErrorKind::Unsupported, "its type is unknown")),
    };
    Ok(Described {
        attributes: Attributes {
            mode: stat.st_mode & 0o7777,
            user: stat.st_uid,
            group: stat.st_gid,
            modified: time_of(&stat),
            xattrs: xattrs(path)?,
        },
        kind,
        device: stat.st_dev,
        inode: stat.st_ino,
        changed: changed(&stat),
        links: stat.st_nlink as u64,
        stored: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
    })
}

#[allow(clippy::unnecessary_cast, reason = "the fields' types differ between machines")]
fn time_of(stat: &Stat) -> Timestamp {
    Timestamp { seconds: stat.st_mtime as i64, nanoseconds: stat.st_mtime_nsec as u32 }
}

/// The time of an inode's last change, in nanoseconds since 1970-01-01 UTC.
#[allow(clippy::unnecessary_cast, reason = "the fields' types differ between machines")]
pub(crate) fn changed(stat: &Stat) -> i64 {
    (stat.st_ctime as i64).saturating_mul(1_000_000_000).saturating_add(stat.st_ctime_nsec as i64)
}

/// The extended attributes of a file, sorted by name, without the mark of a writer that was killed.
fn xattrs(path: &Path) -> io::Result<Arc<[Xattr]>> {
    let mut list = [0; 1024];
    let mut large = Vec::new();
    let names = match llistxattr(path, &mut list) {
        Ok(length) => list.get(..length).unwrap_or_default(),
        // No such attributes on this file system.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Arc::from([])),
        Err(Errno::RANGE) => {
            large.resize(LARGEST, 0);
            let length = llistxattr(path, large.as_mut_slice())?;
            large.get(..length).unwrap_or_default()
        }
        Err(errno) => return Err(errno.into()),
    };
    let mut found = Vec::new();
    for name in names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        if name.to_bytes() == MARK.as_bytes() {
            continue;
        }
        let mut value = vec![0; LARGEST];
        match lgetxattr(path, name, value.as_mut_slice()) {
            Ok(length) => {
                value.truncate(length);
                value.shrink_to_fit();
                found.push(Xattr { name: name.to_bytes().to_vec(), value });
            }
            // Removed since, or listed but not for us.
            Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    found.sort_unstable();
    Ok(found.into())
}

/// The holes of a regular file of this size, ascending. A file system that does not know has none.
///
/// # Errors
/// The system's error.
pub(super) fn holes(path: &Path, size: u64) -> io::Result<Vec<Range<u64>>> {
    let (file, _) = NamedFile::find(path, LastLink::Keep)?.regular()?.open_quietly()?;
    let mut holes: Vec<Range<u64>> = Vec::new();
    let mut data = 0;
    while data < size {
        let start = match seek(&file, SeekFrom::Hole(data)) {
            Ok(start) if start < size => start,
            // The end of a file counts as a hole.
            Ok(_) | Err(Errno::INVAL | Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        data = match seek(&file, SeekFrom::Data(start)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => size,
            Err(errno) => return Err(errno.into()),
        };
        if start < data {
            holes.push(start..data);
        }
    }
    Ok(holes)
}
