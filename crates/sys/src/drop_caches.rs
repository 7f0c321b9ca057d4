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

/// Whether the caches may be dropped: by root, unless `/proc/sys` is mounted read-only as in most containers.
pub fn may_drop_caches() -> bool {
    rustix::fs::accessat(CWD, DROP_CACHES, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
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
    }
}
