//! Mounted file systems with pages worth saving.
//!
//! Decided by the mount table alone: a query to an unreachable server would hang.

use coldstart_host::mounts::Mount;

/// The kind of a mount for saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountKind {
    /// On a disk of this machine.
    Storage,
    /// On a server or served by a program: access may block for ever.
    Network,
    /// It shows files of other file systems, to which the pages belong.
    Layered,
    /// In memory, or without files.
    Other,
}

impl MountKind {
    /// Of a mount, by its type and device.
    pub(crate) fn of(mount: &Mount) -> Self {
        match mount.file_system.to_str().unwrap_or_default() {
            "overlay" | "ecryptfs" | "aufs" => Self::Layered,
            _ if mount.is_remote() => Self::Network,
            // These have storage but no device number of their own.
            "btrfs" | "zfs" | "ubifs" | "bcachefs" => Self::Storage,
            _ if mount.device.major != 0 => Self::Storage,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_host::mounts::Mounts;

    const INFO: &[u8] = b"27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n\
        22 27 0:21 / /proc rw - proc proc rw\n\
        40 27 0:40 /@home /home\\040of\\134all rw - btrfs /dev/sdb1 rw\n\
        41 27 0:41 / /net rw - nfs4 server:/a rw\n\
        42 27 254:0 /usr /mnt rw - ext4 /dev/vda rw\n\
        43 42 0:43 / /mnt rw - tmpfs none rw\n\
        44 27 8:1 / /win rw - fuseblk /dev/sda1 rw\n\
        45 27 0:45 / /o rw - overlay overlay rw\n\
        46 27 0:46 / /s rw - fuse.\xff x rw\n";

    #[test]
    fn kinds_are_told_by_type_and_device() {
        let mounts = Mounts::parse(INFO);
        let seen: Vec<_> =
            mounts.all().iter().map(|mount| (mount.place.to_str().unwrap(), MountKind::of(mount))).collect();
        assert_eq!(
            seen,
            [
                ("/", MountKind::Storage),
                ("/proc", MountKind::Other),
                ("/home of\\all", MountKind::Storage),
                ("/net", MountKind::Network),
                ("/mnt", MountKind::Storage),
                ("/mnt", MountKind::Other),
                ("/win", MountKind::Storage),
                ("/o", MountKind::Layered),
                ("/s", MountKind::Network),
            ]
        );
    }
}
