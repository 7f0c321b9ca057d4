//! Kinds of file systems.
//!
//! The kernel writes the mount table without asking any file system, so it can be read even when a mounted server
//! does not respond. File systems that might hang are recognised here before any access.

use std::path::Path;

use coldstart_host::mounts::{Mount, is_network_type};
use serde::Serialize;

/// The kind of a file system, as far as it matters for start-up times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// On a disk of this machine.
    Disk,
    /// In the page cache itself (tmpfs, ramfs): never cold.
    Memory,
    /// Stacked on other file systems (overlayfs): pages belong to the lower files.
    Layered,
    /// On a server.
    Network,
    /// Served by a program (FUSE), or mounted on access (autofs).
    Served,
    /// An unknown kind.
    Other,
}

impl Kind {
    /// Of a mount, by its type.
    pub fn of(mount: &Mount) -> Self {
        match mount.file_system.to_str() {
            Some(name) => Self::of_name(name),
            // The part after the dot is chosen by the FUSE server.
            None if mount.file_system.as_encoded_bytes().starts_with(b"fuse.") => Self::Served,
            None => Self::Other,
        }
    }

    /// From the name in the mount table.
    pub fn of_name(name: &str) -> Self {
        match name {
            "tmpfs" | "ramfs" | "rootfs" | "devtmpfs" | "hugetlbfs" => Self::Memory,
            "overlay" | "overlayfs" | "aufs" | "unionfs" | "ecryptfs" => Self::Layered,
            "gfs2" | "ocfs2" => Self::Network,
            name if is_network_type(name) => Self::Network,
            "autofs" | "fuse" | "fuseblk" => Self::Served,
            name if name.starts_with("fuse.") => Self::Served,
            "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "f2fs" | "bcachefs" | "zfs" | "jfs" | "reiserfs"
            | "nilfs2" | "squashfs" | "erofs" | "iso9660" | "udf" | "vfat" | "exfat" | "ntfs3" | "ntfs" | "hfsplus"
            | "cramfs" | "ubifs" | "jffs2" => Self::Disk,
            _ => Self::Other,
        }
    }

    /// From the number that `statfs` gives (`include/uapi/linux/magic.h`).
    pub fn of_magic(magic: u64) -> Self {
        match magic {
            0x0102_1994 | 0x8584_58f6 | 0x9584_58f6 => Self::Memory,
            0x794c_7630 | 0xf15f => Self::Layered,
            0x6969 | 0xff53_4d42 | 0xfe53_4d42 | 0x0102_1997 | 0x5346_414f | 0x00c3_6400 | 0x0bd0_0bd0 => Self::Network,
            0x6573_5546 | 0x0187 => Self::Served,
            0xef53 | 0x5846_5342 | 0x9123_683e | 0xf2f5_2010 | 0x2fc1_2fc1 | 0x7371_7368 | 0xe0f5_e1e2 => Self::Disk,
            _ => Self::Other,
        }
    }

    /// Whether access may block for ever.
    pub fn may_hang(self) -> bool {
        matches!(self, Self::Network | Self::Served)
    }

    /// For the user.
    pub fn words(self) -> &'static str {
        match self {
            Self::Disk => "on a disk",
            Self::Memory => "in memory",
            Self::Layered => "stacked on other file systems",
            Self::Network => "on a server",
            Self::Served => "served by a program or mounted on demand",
            Self::Other => "of unknown kind",
        }
    }
}

/// The device path of a mount on a disk, where the mount table names one.
pub(crate) fn device_path(mount: &Mount) -> Option<&Path> {
    (mount.source.starts_with("/dev") && Kind::of(mount) == Kind::Disk).then_some(mount.source.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hang_is_known_by_name() {
        for name in ["nfs", "nfs4", "cifs", "fuse.sshfs", "autofs", "9p"] {
            assert!(Kind::of_name(name).may_hang(), "{name}");
        }
        for name in ["ext4", "overlay", "tmpfs", "something"] {
            assert!(!Kind::of_name(name).may_hang(), "{name}");
        }
    }
}
