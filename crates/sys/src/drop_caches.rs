//! Dropping the clean caches of the whole machine.
//!
//! What stays: dirty pages (so the file systems are synced first), pages mapped by running processes, and
//! memory without a disk copy. The kernel warns that the write is "destructive to performance", no more: no data
//! is lost, but every program on the machine reads its files again.
//!
//! Source: `fs/drop_caches.c`; `Documentation/admin-guide/sysctl/vm.rst`, `drop_caches`.

use std::fs::OpenOptions;
use std::io::{self, Write};

use coldstart_host::kernel::settings::DROP_CACHES;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

/// Whether the caches may be dropped: by root, unless `/proc/sys` is mounted read-only as in most containers.
pub fn may_drop_caches() -> bool {
    refused().is_none()
}

/// Why the caches may not be dropped, for a message to put in brackets; `None` where they may be.
pub fn drop_refusal() -> Option<&'static str> {
    Some(reason(refused()?, rustix::process::geteuid().is_root()))
}

fn refused() -> Option<Errno> {
    rustix::fs::accessat(CWD, DROP_CACHES, Access::WRITE_OK, AtFlags::EACCESS).err()
}

fn reason(errno: Errno, is_root: bool) -> &'static str {
    match errno {
        Errno::ROFS => "`/proc/sys` is read-only here, as in most containers",
        Errno::NOENT | Errno::NOTDIR => "`/proc/sys/vm/drop_caches` is missing: `/proc` may not be mounted",
        _ if is_root => "this requires root outside of the container",
        _ => "this requires root",
    }
}

/// Syncs all file systems and drops clean pages, directory entries and inodes.
///
/// # Errors
/// `EACCES` or `EROFS` where [`may_drop_caches`] is false.
pub fn drop_caches() -> io::Result<()> {
    order(b"3\n")
}

/// Syncs all file systems and drops unused directory entries and inodes of the whole machine. Pages of
/// files stay: since Linux 5.16 an inode with pages is not on the list of droppable ones.
///
/// # Errors
/// As [`drop_caches`].
pub fn drop_entries() -> io::Result<()> {
    order(b"2\n")
}

/// 1 is pages, 2 is directory entries and inodes, 3 is both.
fn order(number: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(DROP_CACHES)?;
    rustix::fs::sync();
    file.write_all(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_access_says_is_what_opening_does() {
        assert_eq!(may_drop_caches(), OpenOptions::new().write(true).open(DROP_CACHES).is_ok());
        assert_eq!(may_drop_caches(), drop_refusal().is_none());
    }

    #[test]
    fn root_is_not_told_to_become_root() {
        assert_eq!(reason(Errno::ACCESS, false), "this requires root");
        assert_eq!(reason(Errno::ACCESS, true), "this requires root outside of the container");
        for errno in [Errno::ROFS, Errno::NOENT] {
            assert_eq!(reason(errno, true), reason(errno, false));
            assert!(!reason(errno, true).contains("root"));
        }
    }
}
