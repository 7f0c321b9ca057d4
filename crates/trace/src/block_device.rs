//! The block device under a file system: where the file system's own metadata is read from.
//!
//! Inode tables, directory blocks and extent trees are cached as pages of the block device itself (ext4 and others that
//! use buffer heads). They are a tenth of the requests of a cold start and need privileges to be read ahead.

use std::fs;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags};

/// A block device that this process may read.
#[derive(Debug)]
pub(crate) struct BlockDevice {
    pub(crate) path: PathBuf,
    /// `st_rdev`, equal to `st_dev` of the files on it.
    pub(crate) number: u64,
    pub(crate) size: u64,
}

impl BlockDevice {
    /// The device behind `st_dev`.
    ///
    /// # Errors
    /// A sentence's end that says why there is none: a file system without one, or no permission to read it.
    pub(crate) fn behind(number: u64) -> Result<Self, String> {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let uevent = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent"))
            .map_err(|_| format!("device {major}:{minor} is not a block device"))?;
        let name = uevent
            .lines()
            .find_map(|line| line.strip_prefix("DEVNAME="))
            .ok_or_else(|| format!("device {major}:{minor} has no name"))?;
        let path = PathBuf::from("/dev").join(name);
        let explain = |error: rustix::io::Errno| format!("{}: {}", path.display(), std::io::Error::from(error));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let descriptor = rustix::fs::open(&path, flags, Mode::empty()).map_err(explain)?;
        let stat = rustix::fs::fstat(&descriptor).map_err(explain)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice || stat.st_rdev != number {
            return Err(format!("{} is not device {major}:{minor}", path.display()));
        }
        let size = rustix::fs::seek(&descriptor, rustix::fs::SeekFrom::End(0)).map_err(explain)?;
        Ok(Self { path, number, size })
    }
}
