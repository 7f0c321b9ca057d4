//! Which file systems are mounted where, and which of them have pages worth saving.
//!
//! Decided by name alone, from `/proc/self/mountinfo`: asking a file system on a server that is gone would hang.
//! The same file system may stand there many times (bind mounts), and a mount may lie hidden under another one; then
//! the path leads elsewhere.
//!
//! Source: proc_pid_mountinfo(5); `show_mountinfo` in `fs/proc_namespace.c` for the escapes.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Major and minor number; of btrfs and of file systems without a device not what `stat` says.
    pub(crate) device: (u32, u32),
    /// Where it is mounted.
    pub(crate) place: PathBuf,
    /// The file system's name, such as `ext4`.
    pub(crate) file_system: String,
    /// What is mounted, such as `/dev/sda1`.
    pub(crate) source: PathBuf,
}

/// What a file system means for saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountKind {
    /// On a disk of this machine.
    Storage,
    /// On a server or in the hands of a program: looking at it may take for ever.
    Network,
    /// Shows files of other file systems, whose pages they are.
    Layered,
    /// In memory, or no files at all.
    Other,
}

impl Mount {
    pub(crate) fn kind(&self) -> MountKind {
        match self.file_system.as_str() {
            "overlay" | "ecryptfs" | "aufs" => MountKind::Layered,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ceph" | "9p" | "afs" | "coda" | "lustre" | "gpfs"
            | "beegfs" | "orangefs" | "pvfs2" | "virtiofs" | "fuse" | "ncpfs" => MountKind::Network,
            name if name.starts_with("fuse.") => MountKind::Network,
            // These have storage and no device number of their own.
            "btrfs" | "zfs" | "ubifs" | "bcachefs" => MountKind::Storage,
            _ if self.device.0 != 0 => MountKind::Storage,
            _ => MountKind::Other,
        }
    }
}

/// All mounts that this process can see.
pub(crate) fn mounts() -> io::Result<Vec<Mount>> {
    Ok(parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// Lines that do not look as they should are left out.
fn parse(bytes: &[u8]) -> Vec<Mount> {
    bytes.split(|&byte| byte == b'\n').filter_map(line).collect()
}

fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let device = std::str::from_utf8(fields.nth(2)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let place = unescaped(fields.nth(1)?);
    // Any number of optional fields, then a hyphen.
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = String::from_utf8_lossy(rest.next()?).into_owned();
    let source = unescaped(rest.next().unwrap_or_default());
    Some(Mount { device: (major.parse().ok()?, minor.parse().ok()?), place, file_system, source })
}

/// Space, tab, newline and backslash are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

/// The mount that a path without symbolic links leads into: the last one made on the longest way to it.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let on_the_way = mounts.iter().filter(|mount| path.starts_with(&mount.place));
    // Of equals, `max_by_key` takes the last.
    on_the_way.max_by_key(|mount| mount.place.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &[u8] = b"27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n\
        22 27 0:21 / /proc rw - proc proc rw\n\
        40 27 0:40 /@home /home\\040of\\134all rw - btrfs /dev/sdb1 rw\n\
        41 27 0:41 / /net rw - nfs4 server:/a rw\n\
        42 27 254:0 /usr /mnt rw - ext4 /dev/vda rw\n\
        43 42 0:43 / /mnt rw - tmpfs none rw\n\
        nonsense\n\
        44 27 8:1 / /win rw - fuseblk /dev/sda1 rw\n\
        45 27 0:45 / /o rw - overlay overlay rw\n";

    #[test]
    fn lines_are_read_and_sorted() {
        let mounts = parse(INFO);
        let seen: Vec<_> = mounts.iter().map(|mount| (mount.place.to_str().unwrap(), mount.kind())).collect();
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
            ]
        );
        assert_eq!(mounts[0].source, Path::new("/dev/vda"));
        assert_eq!(mount_of(&mounts, Path::new("/mnt/a")).unwrap().file_system, "tmpfs");
        assert_eq!(mount_of(&mounts, Path::new("/mntx")).unwrap().file_system, "ext4");
    }
}
