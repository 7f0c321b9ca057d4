//! What an image holds: entries with paths, attributes and contents.

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of the image: one name. Of a file with several names, the first entry describes it and the others are
/// [`EntryKind::HardLink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the image: absolute, without `.`, `..` and repeated slashes.
    pub path: PathBuf,
    /// Its attributes; of a hard link they are ignored, because they belong to the file.
    pub attributes: Attributes,
    /// The kind of file, with its content.
    pub kind: EntryKind,
}

/// Attributes of a file, as far as an image has them. EROFS has one time of a file, its modification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits, with set-user-ID, set-group-ID and sticky bit (`07777`).
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Extended attributes, capabilities and access lists among them, sorted by name. Shared, because thousands of files have
    /// the same ones (SELinux labels).
    pub xattrs: Arc<[Xattr]>,
}

/// A time: since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds after that second, below 10^9.
    pub nanoseconds: u32,
}

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xattr {
    /// The whole name: `security.capability`.
    pub name: Vec<u8>,
    /// The value, as `getxattr(2)` returns it.
    pub value: Vec<u8>,
}

/// Kind of file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory; its entries are the entries with paths below it.
    Directory,
    /// A regular file.
    Regular(Content),
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
    /// Another name of the file at this path, which is not a directory and not a hard link itself.
    HardLink(PathBuf),
}

impl EntryKind {
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
            Self::HardLink(_) => "another name of a file",
        }
    }
}

/// Number of a device file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// Its driver.
    pub major: u32,
    /// Which of the driver's devices.
    pub minor: u32,
}

/// The content of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Size in bytes.
    pub size: u64,
    /// Byte ranges that hold no data, ascending, with data between them.
    pub holes: Vec<Range<u64>>,
    /// Where the bytes come from.
    pub source: Source,
    /// What tells that the original is still the file that was copied, where that is known.
    pub origin: Option<Origin>,
}

/// The inode of an original: another one lies in its place, or its own is not as it was, once the original was changed in any way, also if its
/// size and time of modification are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `st_ino`. The device is no part of it: its number changes from boot to boot.
    pub inode: u64,
    /// `st_ctim`, in nanoseconds since 1970-01-01 UTC.
    pub changed: i64,
}

impl Content {
    /// Bytes outside of holes.
    pub fn data_bytes(&self) -> u64 {
        let holes: u64 = self.holes.iter().map(|hole| hole.end.saturating_sub(hole.start)).sum();
        self.size.saturating_sub(holes)
    }
}

/// Where a file's bytes come from when the image is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file of this machine, which must still have the entry's size and modification time then.
    File(PathBuf),
    /// Bytes in memory, as many as the content's size.
    Bytes(Arc<[u8]>),
    /// A part of an open file, which nobody changes meanwhile.
    Part(FilePart),
}

/// A part of an open file: as long as the content.
#[derive(Clone, Debug)]
pub struct FilePart {
    /// The file.
    pub file: Arc<File>,
    /// Its name, for messages.
    pub path: Arc<Path>,
    /// Where the part begins, in bytes.
    pub offset: u64,
}

impl PartialEq for FilePart {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.offset == other.offset
    }
}

impl Eq for FilePart {}
