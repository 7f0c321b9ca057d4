//! Block devices beneath file systems: by which name they can be opened, and opening them.
//!
//! A kernel may forbid opening a device that is mounted, even for reading and even to root.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, major, minor};
use rustix::io::Errno;

use crate::cache_file::CacheFile;

/// A name that leads to the device with this major and minor number: what was mounted, or what the kernel calls it.
pub(crate) fn node(number: (u32, u32), source: &Path) -> Option<PathBuf> {
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

/// Opens a block device for reading and for asking.
///
/// # Errors
/// The kernel's answer; `ENOTBLK` for anything else.
pub(crate) fn open(path: &Path) -> io::Result<CacheFile> {
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

fn is_block_device(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice
}
