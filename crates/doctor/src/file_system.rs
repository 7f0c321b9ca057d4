//! File systems: what kind one is, and which one a path is on.
//!
//! The mount table is text that the kernel makes without asking any file system, so it can be read even when a server
//! behind one of the mounts is gone. Whatever might hang is found here before it is touched.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// What matters about a file system for start-up times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// On a disk of this machine.
    Disk,
    /// In the page cache itself (tmpfs, ramfs): never cold.
    Memory,
    /// Layers over other file systems (overlayfs): pages belong to the files beneath.
    Layered,
    /// On a server.
    Network,
    /// Served by a program (FUSE), or mounted when it is touched (autofs).
    Served,
    /// None of the above that we know.
    Other,
}

impl Kind {
    /// From the name in the mount table.
    pub fn of_name(name: &str) -> Self {
        match name {
            "tmpfs" | "ramfs" | "rootfs" | "devtmpfs" | "hugetlbfs" => Self::Memory,
            "overlay" | "overlayfs" | "aufs" | "unionfs" | "ecryptfs" => Self::Layered,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "afs" | "ceph" | "lustre" | "gfs2" | "ocfs2"
            | "glusterfs" | "beegfs" | "gpfs" | "coda" | "ncpfs" | "orangefs" | "pvfs2" | "virtiofs" | "davfs" => {
                Self::Network
            }
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

    /// Whether touching it may take for ever.
    pub fn may_hang(self) -> bool {
        matches!(self, Self::Network | Self::Served)
    }

    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Disk => "on a disk",
            Self::Memory => "in memory",
            Self::Layered => "layers over other file systems",
            Self::Network => "on a server",
            Self::Served => "served by a program or mounted on demand",
            Self::Other => "of a kind unknown to coldstart",
        }
    }
}

/// A mounted file system, a line of `mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// `st_dev` of its files, as `major:minor`.
    pub device: String,
    /// Where it is mounted.
    pub place: PathBuf,
    /// Options of the mount.
    pub options: Vec<String>,
    /// Kind, as the kernel names it.
    pub kind_name: String,
    /// What is mounted: a device's path, a server's name, or a word.
    pub source: String,
    /// Options of the file system.
    pub file_system_options: Vec<String>,
}

impl Mount {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        Kind::of_name(&self.kind_name)
    }

    /// Whether either list has this option.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().chain(&self.file_system_options).any(|found| found == option)
    }

    /// Whether the mount itself may not be written to.
    pub fn is_read_only(&self) -> bool {
        self.has("ro")
    }

    /// The path of the device it is mounted from, where the mount table names one.
    pub fn device_path(&self) -> Option<PathBuf> {
        (self.source.starts_with("/dev/") && self.kind() == Kind::Disk).then(|| PathBuf::from(&self.source))
    }

    fn parse(line: &str) -> Option<Self> {
        let (fields, rest) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(2);
        let (device, _root, place, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let mut rest = rest.split(' ');
        let (kind_name, source) = (rest.next()?, rest.next().unwrap_or_default());
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        Some(Self {
            device: device.to_owned(),
            place: PathBuf::from(unescaped(place)),
            options: list(options),
            kind_name: kind_name.to_owned(),
            source: unescaped(source),
            file_system_options: list(rest.next().unwrap_or_default()),
        })
    }
}

/// Blanks, line breaks, backslashes and `#` stand as three octal digits behind a backslash (`mangle` in
/// `fs/proc_namespace.c`). The backslash comes last: what it brings back is no mark.
fn unescaped(text: &str) -> String {
    let marks = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")];
    marks.iter().fold(text.to_owned(), |text, (mark, character)| text.replace(mark, character))
}

/// The mount table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    list: Vec<Mount>,
}

impl Mounts {
    /// Reads the lines of `/proc/self/mountinfo`; those that cannot be understood are passed over.
    pub fn parse(text: &str) -> Self {
        Self { list: text.lines().filter_map(Mount::parse).collect() }
    }

    /// All of them, in the order they were mounted.
    pub fn all(&self) -> &[Mount] {
        &self.list
    }

    /// The one that an absolute path without symbolic links is on.
    pub fn of(&self, path: &Path) -> Option<&Mount> {
        // Of several on the same place the last one covers the others.
        self.list
            .iter()
            .filter(|mount| path.starts_with(&mount.place))
            .max_by_key(|mount| mount.place.components().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_and_last_mount_counts() {
        let mounts = Mounts::parse(
            "22 1 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
             23 22 0:20 / /home rw - autofs systemd-1 rw,fd=1\n\
             24 23 0:44 / /home/a\\040b rw - nfs4 server:/home rw,hard\n\
             nonsense\n\
             25 22 0:45 / /home rw - tmpfs tmpfs rw\n",
        );
        assert_eq!(mounts.all().len(), 4);
        let kind = |path: &str| mounts.of(Path::new(path)).map(Mount::kind);
        assert_eq!(kind("/usr/bin"), Some(Kind::Disk));
        assert_eq!(kind("/home/c"), Some(Kind::Memory));
        assert_eq!(kind("/home/a b/x"), Some(Kind::Network));
        assert_eq!(kind("/homes"), Some(Kind::Disk));
        assert!(mounts.of(Path::new("/usr")).unwrap().has("noatime"));
    }

    #[test]
    fn names_are_read_as_the_kernel_writes_them() {
        let mounts = Mounts::parse("22 1 0:9 / /a\\134040\\011b\\012c rw - nfs4 server:/\\043tmp\\134043 rw\n");
        let mount = &mounts.all()[0];
        assert_eq!((mount.place.to_str().unwrap(), &*mount.source), ("/a\\040\tb\nc", "server:/#tmp\\043"));
    }

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
