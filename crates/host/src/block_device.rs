//! Block devices: their numbers, which one holds a file, and their attributes in `/sys/dev/block`.
//!
//! Not obvious: `st_dev` need not name a device. btrfs gives each subvolume its own number, which no table lists; there the
//! mount names the device. A partition has no queue; its disk has.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::mounts::{Mounts, mount_id};
use crate::text::decimal;

const BY_NUMBER: &str = "/sys/dev/block";

/// Major and minor number of a device, or of a file system that has none (major number 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver, roughly.
    pub major: u32,
    /// The device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `st_dev` or `st_rdev`.
    pub fn of_stat(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// In the encoding of `st_dev` and `st_rdev`.
    pub fn to_stat(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }

    /// In the kernel's own numbering, as tracepoints print it: `major << 20 | minor`.
    pub fn to_kernel(self) -> u64 {
        u64::from(self.major) << 20 | u64::from(self.minor)
    }

    /// From `8:1`, in decimal.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let colon = text.iter().position(|&byte| byte == b':')?;
        let (major, minor) = text.split_at(colon);
        Some(Self { major: decimal(major)?, minor: decimal(minor.get(1..)?)? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A block device, by its number. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    number: DeviceNumber,
}

impl BlockDevice {
    /// The block device with this number.
    pub fn numbered(number: DeviceNumber) -> Self {
        Self { number }
    }

    /// The block device that a path names, such as `/dev/sda1`; symbolic links are followed.
    pub fn named(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device())?;
        Some(Self::numbered(DeviceNumber::of_stat(metadata.rdev())))
    }

    /// The device that holds a file's content; for a block device, the device itself. `None` for files in memory, on servers and
    /// on stacked file systems.
    pub fn beneath(file: &Path, mounts: &Mounts) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        if metadata.file_type().is_block_device() {
            return Some(Self::numbered(DeviceNumber::of_stat(metadata.rdev())));
        }
        let number = DeviceNumber::of_stat(metadata.dev());
        if number.major != 0 {
            return Some(Self::numbered(number));
        }
        let by_id = mount_id(file).and_then(|id| mounts.numbered(id));
        let mount = by_id.or_else(|| mounts.of(&std::fs::canonicalize(file).ok()?))?;
        mount.source.is_absolute().then(|| Self::named(&mount.source))?
    }

    /// All block devices, in no particular order.
    pub fn all() -> impl Iterator<Item = Self> {
        let entries = std::fs::read_dir(BY_NUMBER).into_iter().flatten().flatten();
        entries.filter_map(|entry| DeviceNumber::parse(entry.file_name().as_bytes()).map(Self::numbered))
    }

    /// Its number.
    pub fn number(&self) -> DeviceNumber {
        self.number
    }

    /// Its directory below `/sys`, by a symbolic link.
    pub fn directory(&self) -> PathBuf {
        Path::new(BY_NUMBER).join(self.number.to_string())
    }

    /// The directory below `/sys` of the whole disk: for a partition the disk that contains it, else its own. Without symbolic
    /// links.
    pub fn disk_directory(&self) -> Option<PathBuf> {
        let own = std::fs::canonicalize(self.directory()).ok()?;
        if own.join("partition").exists() { own.parent().map(Path::to_owned) } else { Some(own) }
    }

    /// The kernel's name for its node in `/dev` (`DEVNAME` in `uevent`). That node may be missing, or be another device.
    pub fn node(&self) -> Option<PathBuf> {
        name_in(&std::fs::read(self.directory().join("uevent")).ok()?).map(|name| Path::new("/dev").join(name))
    }

    /// A node that is this device: `preferred` if it is, else the kernel's name, else `/dev/block/MAJOR:MINOR`. Without symbolic
    /// links.
    pub fn checked_node(&self, preferred: &Path) -> Option<PathBuf> {
        let by_number = Path::new("/dev/block").join(self.number.to_string());
        let names = [Some(preferred.to_owned()), self.node(), Some(by_number)].into_iter().flatten();
        let mut real = names.filter(|name| name.is_absolute()).filter_map(|name| std::fs::canonicalize(name).ok());
        real.find(|name| Self::named(name).is_some_and(|device| device == *self))
    }
}

/// The value of `DEVNAME=` in a `uevent` file.
pub fn name_in(uevent: &[u8]) -> Option<&Path> {
    let name = uevent.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"DEVNAME="))?;
    (!name.is_empty()).then(|| Path::new(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_written_in_three_ways() {
        let number = DeviceNumber::parse(b"259:65537").unwrap();
        assert_eq!(number, DeviceNumber { major: 259, minor: 65537 });
        assert_eq!(number.to_string(), "259:65537");
        assert_eq!(DeviceNumber::of_stat(number.to_stat()), number);
        assert_eq!(DeviceNumber { major: 8, minor: 1 }.to_kernel(), 0x80_0001);
        for text in ["", "8", ":", "8:", ":1", "8:1:1", "8:x", "-8:1", "+8:1", "4294967296:0"] {
            assert_eq!(DeviceNumber::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_node_is_named_in_uevent() {
        assert_eq!(name_in(b"MAJOR=8\nDEVNAME=sda1\nDEVTYPE=partition\n"), Some(Path::new("sda1")));
        assert_eq!(name_in(b"MAJOR=8\nDEVNAME=\n"), None);
    }

    #[test]
    fn files_in_memory_have_no_device() {
        let mounts = Mounts::here().unwrap();
        assert_eq!(BlockDevice::beneath(Path::new("/proc/self/status"), &mounts), None);
        assert_eq!(BlockDevice::beneath(Path::new("/no/such/file"), &mounts), None);
        assert_eq!(BlockDevice::named(Path::new("/dev/null")), None);
    }

    #[test]
    fn this_machines_devices_are_all_numbered() {
        for device in BlockDevice::all() {
            // A device may be removed meanwhile.
            let Ok(own) = std::fs::read(device.directory().join("dev")) else { continue };
            assert_eq!(DeviceNumber::parse(own.trim_ascii()), Some(device.number()));
            let queue = device.disk_directory().map(|directory| directory.join("queue"));
            assert!(!device.directory().exists() || queue.is_some_and(|queue| queue.exists()), "{device:?}");
        }
        let device = BlockDevice::beneath(&std::env::current_exe().unwrap(), &Mounts::here().unwrap());
        if let Some(device) = device {
            assert!(BlockDevice::all().any(|one| one == device));
        }
    }

    proptest! {
        #[test]
        fn every_number_comes_back(major in any::<u32>(), minor in any::<u32>()) {
            let number = DeviceNumber { major, minor };
            prop_assert_eq!(DeviceNumber::parse(number.to_string().as_bytes()), Some(number));
            prop_assert_eq!(DeviceNumber::of_stat(number.to_stat()), number);
        }
    }
}
