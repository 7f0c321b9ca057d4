//! What is mounted where, from mountinfo (proc_pid_mountinfo(5)).
//!
//! A newcomer might not guess: blanks, tabs, newlines and backslashes in paths are written as octal escapes there.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

/// A mount of this process's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor` of the file system's device.
    pub(crate) device: String,
    pub(crate) mount_point: PathBuf,
}

/// What is mounted at exactly `mount_point`, lowest first.
pub(crate) fn at(mount_point: &Path) -> Result<Vec<Mount>> {
    Ok(all()?.into_iter().filter(|mount| mount.mount_point == mount_point).collect())
}

/// Mount points strictly below `folder`.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let inside = |mount: &Mount| mount.mount_point.starts_with(folder) && mount.mount_point != folder;
    Ok(all()?.into_iter().filter(inside).map(|mount| mount.mount_point).collect())
}

fn all() -> Result<Vec<Mount>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?))
}

/// The mounts in the text of a mountinfo file; lines of another form are left out.
pub(crate) fn parse(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            // id, parent, major:minor, root, mount point, ...
            let mut fields = line.split(|byte| *byte == b' ');
            let device = String::from_utf8(fields.nth(2)?.to_vec()).ok()?;
            let mount_point = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
            Some(Mount { device, mount_point })
        })
        .collect()
}

/// Replaces `\ooo` by the byte it stands for.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, others)) = rest.split_first() {
        let octal = others
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::ffi::OsStr::from_bytes(digits).to_str()?, 8).ok());
        match octal {
            Some(byte) => {
                plain.push(byte);
                rest = &others[3..];
            }
            None => {
                plain.push(first);
                rest = others;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_odd_lines_are_understood() {
        let text = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                     36 35 7:0 / /mnt/with\\040blank\\134x rw shared:1 - ext4 /dev/loop0 rw\nodd\n\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[1], Mount { device: "7:0".into(), mount_point: "/mnt/with blank\\x".into() });
        assert_eq!(unescape(b"end\\04"), b"end\\04");
        assert_eq!(unescape(b"\\777"), b"\\777");
    }

    #[test]
    fn proc_is_found() {
        assert!(!at(Path::new("/proc")).unwrap().is_empty());
    }
}
