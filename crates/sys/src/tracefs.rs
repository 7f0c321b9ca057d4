//! A detached mount of tracefs, which works whether or not the machine has tracefs mounted.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Mounts tracefs at no path: its files are reached through the descriptor, and closing that unmounts it.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `ENODEV` where the kernel has no tracefs.
///
/// Source: fsopen(2), fsmount(2), since Linux 5.2.
pub fn mount_detached() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
