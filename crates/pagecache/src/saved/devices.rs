//! The block devices beneath file systems, whose pages are the file systems' metadata (ext4, FAT; btrfs and XFS keep
//! theirs elsewhere).
//!
//! A kernel may forbid opening a device that is mounted, even for reading and even to root; that is told, and no error.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_profile::FileIdentity;
use rustix::fs::{FileType, Mode, OFlags, Stat, major, minor};
use rustix::io::Errno;

use super::SavedFile;
use super::mounts::{Mount, MountKind};
use crate::cache_file::CacheFile;
use crate::residency::{Cached, Detail};

/// What is resident of the devices beneath `mounts`, each once, and of which this cannot be said.
pub(super) fn ask<'a>(mounts: impl Iterator<Item = &'a Mount>) -> (Vec<SavedFile>, Vec<(PathBuf, io::Error)>) {
    let with_device = mounts.filter(|mount| mount.kind() == MountKind::Storage && mount.device.0 != 0);
    let devices: BTreeMap<(u32, u32), &Path> =
        with_device.map(|mount| (mount.device, mount.source.as_path())).collect();
    let (mut saved, mut hidden) = (Vec::new(), Vec::new());
    for (number, source) in devices {
        match node(number, source).ok_or_else(|| io::Error::from(Errno::NOENT)).and_then(|node| ask_one(&node)) {
            Ok(Some(device)) => saved.push(device),
            Ok(None) => {}
            Err(error) => hidden.push((source.to_owned(), error)),
        }
    }
    (saved, hidden)
}

/// A name that leads to the device: what was mounted, or what the kernel calls it.
fn node(number: (u32, u32), source: &Path) -> Option<PathBuf> {
    let by_number = format!("{}:{}", number.0, number.1);
    let said = std::fs::read_to_string(format!("/sys/dev/block/{by_number}/uevent")).unwrap_or_default();
    let named = said.lines().find_map(|line| line.strip_prefix("DEVNAME=")).map(|name| Path::new("/dev").join(name));
    let names = [Some(source.to_owned()), named, Some(Path::new("/dev/block").join(&by_number))];
    let names = names.into_iter().flatten().filter(|name| name.is_absolute());
    // A link below /dev/mapper is as good as what it leads to, but only the latter is opened again.
    let mut real = names.filter_map(|name| std::fs::canonicalize(name).ok());
    real.find(|name| {
        let is_it = |stat: Stat| is_block_device(&stat) && (major(stat.st_rdev), minor(stat.st_rdev)) == number;
        rustix::fs::stat(name).is_ok_and(is_it)
    })
}

fn is_block_device(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice
}

/// `None` when nothing of it is resident.
fn ask_one(path: &Path) -> io::Result<Option<SavedFile>> {
    let file = open(path)?;
    let other = |error: crate::Error| io::Error::other(error);
    let residency = file.residency(Detail::Ranges).map_err(other)?;
    let ranges = match residency.cached {
        Cached::Known(known) => known.ranges.unwrap_or_default(),
        Cached::Unknown(unknown) => return Err(io::Error::other(unknown.to_string())),
    };
    let identity = FileIdentity { size: residency.size, modified: 0 };
    let (device, inode) = (file.stat.st_rdev, file.stat.st_ino);
    Ok((!ranges.is_empty()).then(|| SavedFile { path: path.to_owned(), identity, device, inode, ranges }))
}

/// Opens a block device for reading and for asking.
pub(super) fn open(path: &Path) -> io::Result<CacheFile> {
    // The kind is looked at first: opening a character device may do things.
    let stat = rustix::fs::lstat(path)?;
    if !is_block_device(&stat) {
        return Err(Errno::NOTBLK.into());
    }
    // Opened here, too, for the kernel's own answer: EPERM and EACCES mean different things.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())?;
    CacheFile::open(path, false).map_err(io::Error::other)
}
