//! The block devices under file systems, whose pages are the file systems' metadata (ext4, FAT; btrfs and XFS keep
//! theirs elsewhere).
//!
//! A device that may not be opened is reported, not an error.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_host::block_device::{BlockDevice, DeviceNumber};
use coldstart_host::mounts::Mount;
use coldstart_profile::FileIdentity;
use rustix::io::Errno;

use super::SavedFile;
use crate::block_device::open;
use crate::mounts::MountKind;
use crate::residency::{Cached, Detail};

/// What is resident of the devices beneath `mounts`, each once, and of which this cannot be said.
pub(super) fn ask<'a>(mounts: impl Iterator<Item = &'a Mount>) -> (Vec<SavedFile>, Vec<(PathBuf, io::Error)>) {
    let with_device = mounts.filter(|mount| MountKind::of(mount) == MountKind::Storage && mount.device.major != 0);
    let devices: BTreeMap<DeviceNumber, &Path> =
        with_device.map(|mount| (mount.device, mount.source.as_path())).collect();
    let (mut saved, mut hidden) = (Vec::new(), Vec::new());
    for (number, source) in devices {
        let node = BlockDevice::numbered(number).checked_node(source);
        match node.ok_or_else(|| io::Error::from(Errno::NOENT)).and_then(|node| ask_one(&node)) {
            Ok(Some(device)) => saved.push(device),
            Ok(None) => {}
            Err(error) => hidden.push((source.to_owned(), error)),
        }
    }
    (saved, hidden)
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
