//! Copies owner, group, access list and mode of the replaced file to the output.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Gid, Stat, Uid, XattrFlags, fchown, fremovexattr, fsetxattr, lgetxattr};
use rustix::io::Errno;

/// Where the kernel keeps a file's access list (acl(5)).
const ACCESS_LIST: &str = "system.posix_acl_access";
/// Bytes of the largest attribute there is (`XATTR_SIZE_MAX`, include/uapi/linux/limits.h).
const LARGEST_LIST: usize = 1 << 16;

/// Gives a new file the owner, group, access list and permissions of the file it replaces. Where one cannot be kept (only
/// root may give files away), the new file gets fewer permissions, never more.
///
/// Owner first, since changing it changes the mode; then the list, which changes the mode's group bits.
pub(crate) fn keep_rights(path: &Path, before: &Stat, file: &File) -> io::Result<()> {
    let mut mode = before.st_mode & 0o777;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.st_uid, before.st_gid) {
        let (owner, group) = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
        if fchown(file, Some(owner), Some(group)).is_err() {
            // The group may be one of the caller's.
            let _ = fchown(file, None, Some(group));
        }
        let now = file.metadata()?;
        // The former owner and group now fall into another permission class.
        if now.uid() != before.st_uid {
            mode &= 0o700 | mode >> 3 & 0o070 | mode >> 6 & 0o007;
        }
        if now.gid() != before.st_gid {
            let both = mode >> 3 & mode & 0o007;
            mode = mode & 0o700 | both << 3 | both;
        }
    }
    if !keep_access_list(path, file) {
        mode &= 0o700;
    }
    if file.metadata()?.mode() & 0o777 != mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Whether the new file's access list is that of the old one, or neither has one.
fn keep_access_list(path: &Path, file: &File) -> bool {
    let mut list = vec![0; LARGEST_LIST];
    match lgetxattr(path, ACCESS_LIST, list.as_mut_slice()) {
        Ok(length) => {
            list.get(..length).is_some_and(|list| fsetxattr(file, ACCESS_LIST, list, XattrFlags::empty()).is_ok())
        }
        // The new file may have inherited the directory's default list.
        Err(Errno::NODATA) => matches!(fremovexattr(file, ACCESS_LIST), Ok(()) | Err(Errno::NODATA)),
        Err(error) => error == Errno::OPNOTSUPP,
    }
}
