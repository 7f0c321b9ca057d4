//! How an image differs from a directory tree.

use std::fmt;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use crate::entry::{DeviceNumber, Timestamp};

/// A difference between a file of the image and the file of the same path in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path in the image.
    pub path: PathBuf,
    /// What differs.
    pub aspect: Aspect,
}

/// What differs. The image's side comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Only the image has it.
    OnlyInImage,
    /// Only the tree has it, below a directory that the image has whole.
    OnlyInTree,
    /// The kinds of file.
    Kind(&'static str, &'static str),
    /// The permission bits.
    Mode(u32, u32),
    /// The owner.
    User(u32, u32),
    /// The group.
    Group(u32, u32),
    /// The modification time.
    Modified(Timestamp, Timestamp),
    /// The size in bytes.
    Size(u64, u64),
    /// The content, at this offset first.
    Content(u64),
    /// The target of a symbolic link.
    Target(PathBuf, PathBuf),
    /// The number of a device.
    Device(DeviceNumber, DeviceNumber),
    /// An extended attribute: its name.
    Xattr(String),
    /// Its other names: they are one file on one side and several on the other.
    Links,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`: ", printable(&self.path))?;
        match &self.aspect {
            Aspect::OnlyInImage => write!(formatter, "only in the image"),
            Aspect::OnlyInTree => write!(formatter, "not in the image"),
            Aspect::Kind(image, tree) => write!(formatter, "{image} in the image, {tree} outside"),
            Aspect::Mode(image, tree) => write!(formatter, "mode {image:04o} in the image, {tree:04o} outside"),
            Aspect::User(image, tree) => write!(formatter, "owner {image} in the image, {tree} outside"),
            Aspect::Group(image, tree) => write!(formatter, "group {image} in the image, {tree} outside"),
            Aspect::Modified(image, tree) => {
                let text = |time: &Timestamp| format!("{}.{:09}", time.seconds, time.nanoseconds);
                write!(formatter, "modified at {} s in the image, at {} s outside", text(image), text(tree))
            }
            Aspect::Size(image, tree) => write!(formatter, "{image} bytes in the image, {tree} outside"),
            Aspect::Content(offset) => write!(formatter, "other content from offset {offset:#x} on"),
            Aspect::Target(image, tree) => {
                write!(formatter, "leads to `{}` in the image, to `{}` outside", printable(image), printable(tree))
            }
            Aspect::Device(image, tree) => {
                let DeviceNumber { major, minor } = image;
                write!(formatter, "device {major}:{minor} in the image, {}:{} outside", tree.major, tree.minor)
            }
            Aspect::Xattr(name) => write!(formatter, "another attribute `{}`", printable(Path::new(name))),
            Aspect::Links => write!(formatter, "one file under several names on one side, several files on the other"),
        }
    }
}
