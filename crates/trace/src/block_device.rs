//! The block device under a file system, from which the file system's own metadata is read.
//!
//! Inode tables, directory blocks and extent trees are cached as pages of the block device itself (ext4 and others that
//! use buffer heads). They are a tenth of the requests of a cold start and need privileges to be read ahead.

use std::path::PathBuf;

use coldstart_host::block_device::DeviceNumber;
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
    /// A clause with the reason: a file system without a device, or no permission to read it.
    pub(crate) fn behind(number: u64) -> Result<Self, String> {
        let device = coldstart_host::block_device::BlockDevice::numbered(DeviceNumber::of_stat(number));
        if !device.directory().exists() {
            return Err(format!("device {} is not a block device", device.number()));
        }
        let path = device.node().ok_or_else(|| format!("device {} has no name", device.number()))?;
        let explain = |error: rustix::io::Errno| format!("{}: {}", path.display(), std::io::Error::from(error));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let descriptor = rustix::fs::open(&path, flags, Mode::empty()).map_err(explain)?;
        let stat = rustix::fs::fstat(&descriptor).map_err(explain)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice || stat.st_rdev != number {
            return Err(format!("{} is not device {}", path.display(), device.number()));
        }
        let size = rustix::fs::seek(&descriptor, rustix::fs::SeekFrom::End(0)).map_err(explain)?;
        Ok(Self { path, number, size })
    }
}
