//! Files that verbs write for the user.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Gid, Uid, XattrFlags, fchown, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// How every SQLite database begins (SQLite file format, 1.3.1).
const DATABASE: &[u8] = b"SQLite format 3\0";
/// Where SQLite keeps the application's number, big-endian (SQLite file format, 1.3).
const APPLICATION_AT: usize = 68;
/// The number of traces.
const TRACE: [u8; 4] = coldstart_tracefile::APPLICATION.to_be_bytes();

/// Where the kernel keeps a file's access list (acl(5)).
const ACCESS_LIST: &str = "system.posix_acl_access";
/// Bytes of the largest attribute there is (`XATTR_SIZE_MAX`, include/uapi/linux/limits.h).
const LARGEST_LIST: usize = 1 << 16;

/// Whether a file's header is that of a trace, whole or damaged.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn is_trace(path: &Path) -> io::Result<bool> {
    let mut header = [0; APPLICATION_AT + TRACE.len()];
    match File::open(path)?.read_exact(&mut header) {
        Ok(()) => Ok(header.starts_with(DATABASE) && header.ends_with(&TRACE)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes beside the target and renames: who reads meanwhile sees the old file or the new one, whole.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = begin_beside(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// An empty file in the target's folder, which is gone when it is dropped and takes the target's name with `persist`.
///
/// It is readable for everybody, as what we write is meant to be used by others, too; but where it replaces a file, those may
/// use it who might use that.
pub(crate) fn begin_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let before = fs::symlink_metadata(path).ok().filter(Metadata::is_file);
    // Who opened it now could read it ever after.
    let mode = if before.is_some() { 0o600 } else { 0o644 };
    // Opened by hand, since the library's own errors add the name that it made up, which means nothing to anybody.
    let file = tempfile::Builder::new()
        .prefix(".coldstart-")
        .make_in(folder, |path| fs::OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path))?;
    if let Some(before) = before {
        keep_rights(path, &before, file.as_file())?;
    }
    Ok(file)
}

/// Gives a new file the owner, group, access list and permissions of the one that it is to replace. What cannot be kept (only
/// root may give files away) is made up for by fewer permissions, never by more.
///
/// The owner comes first, since changing it changes the mode; then the list, which changes the mode's group bits.
fn keep_rights(path: &Path, before: &Metadata, file: &File) -> io::Result<()> {
    let mut mode = before.mode() & 0o777;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        let (owner, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
        if fchown(file, Some(owner), Some(group)).is_err() {
            // The group may be one of the caller's.
            let _ = fchown(file, None, Some(group));
        }
        let now = file.metadata()?;
        // Who was the owner or of the group belongs to another class now, and others are the group.
        if now.uid() != before.uid() {
            mode &= 0o700 | mode >> 3 & 0o070 | mode >> 6 & 0o007;
        }
        if now.gid() != before.gid() {
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

/// Whether the new file's access list is that of the old one, or neither has any.
fn keep_access_list(path: &Path, file: &File) -> bool {
    let mut list = vec![0; LARGEST_LIST];
    match getxattr(path, ACCESS_LIST, list.as_mut_slice()) {
        Ok(length) => {
            list.get(..length).is_some_and(|list| fsetxattr(file, ACCESS_LIST, list, XattrFlags::empty()).is_ok())
        }
        // The folder may have given the new file one.
        Err(Errno::NODATA) => matches!(fremovexattr(file, ACCESS_LIST), Ok(()) | Err(Errno::NODATA)),
        Err(error) => error == Errno::OPNOTSUPP,
    }
}
