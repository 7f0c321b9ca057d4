//! The steps on files: each leaves the file whole.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_output::{StagedFile, flush_directory};
use rustix::fs::{Mode, Timespec, Timestamps, XattrFlags, fchmod, fchown, fgetxattr, fsetxattr, futimens};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};

use crate::error::PackageError;

/// After the name of the file, whose own name follows a dot: `ldconfig` passes over names that do not begin with `lib`. Otherwise
/// it could lead the library's link to the original.
const KEPT: &str = ".coldstart-original";
/// A second name of the original, for the instant before it is renamed over the file.
const RESTORING: &str = ".coldstart-restoring";
/// Attributes that decide what a file may do: without them a program would be another.
const ATTRIBUTES: &[&CStr] = &[c"security.capability", c"system.posix_acl_access", c"security.selinux"];
/// The longest value of an attribute (`XATTR_SIZE_MAX`).
const LONGEST_VALUE: usize = 65536;

/// Where the original of a replaced file is kept.
pub fn kept_beside(file: &Path) -> PathBuf {
    hidden(file, KEPT)
}

fn hidden(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or(OsStr::new("")));
    name.push(ending);
    file.with_file_name(name)
}

/// BLAKE3 of a regular file; `None` if there is none.
pub(super) fn digest(path: &Path) -> Result<Option<String>, PackageError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(PackageError::NotRegular(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PackageError::io("look at", path)(error)),
    }
    let mut hasher = blake3::Hasher::new();
    let read = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hasher));
    read.map_err(PackageError::io("read", path))?;
    Ok(Some(hasher.finalize().to_hex().to_string()))
}

/// What tells without reading it whether a file is still the same: an upgrade always makes a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    inode: u64,
    size: u64,
    modified: i64,
    modified_nanoseconds: i64,
}

/// The identity of the file at `path`; `None` if there is none.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some(Identity {
        inode: found.ino(),
        size: found.size(),
        modified: found.mtime(),
        modified_nanoseconds: found.mtime_nsec(),
    })
}

/// Whether two paths name one file.
fn are_one(one: &Path, other: &Path) -> bool {
    let number = |path| std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino())).ok();
    number(one).is_some_and(|number_of_one| number(other) == Some(number_of_one))
}

/// Gives a file a second name.
pub(super) fn link(file: &Path, name: &Path) -> Result<(), PackageError> {
    match std::fs::hard_link(file, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match are_one(file, name) {
            true => Ok(()),
            false => Err(PackageError::NameTaken(name.to_owned())),
        },
        result => result.map_err(PackageError::io("link", file)),
    }
}

/// A copy of `content` that is not visible yet, with what `like` may do: owner, mode, capabilities; and with its modification time,
/// by which plans and build tools know a file.
pub(super) fn stage(content: &Path, like: &Path, file: &Path) -> Result<StagedFile, PackageError> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let copy = || -> io::Result<StagedFile> {
        let staged = StagedFile::create(directory, file.file_name().unwrap_or_default(), 0o600)?;
        io::copy(&mut File::open(content)?, &mut staged.file())?;
        let like = File::open(like)?;
        let rights = like.metadata()?;
        // In this order: a change of the owner removes the set-user-ID bit and capabilities.
        fchown(staged.file(), Some(Uid::from_raw(rights.uid())), Some(Gid::from_raw(rights.gid())))?;
        fchmod(staged.file(), Mode::from_raw_mode(rights.mode() & 0o7777))?;
        for name in ATTRIBUTES {
            let mut value = vec![0; LONGEST_VALUE];
            match fgetxattr(&like, *name, &mut value) {
                Ok(length) => {
                    fsetxattr(staged.file(), *name, value.get(..length).unwrap_or_default(), XattrFlags::empty())?;
                }
                Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let time = Timespec { tv_sec: rights.mtime(), tv_nsec: rights.mtime_nsec() };
        futimens(staged.file(), &Timestamps { last_access: time, last_modification: time })?;
        staged.file().sync_all()?;
        Ok(staged)
    };
    copy().map_err(PackageError::io("write a new version of", file))
}

/// Puts a staged file over the file.
pub(super) fn put(staged: &mut StagedFile, file: &Path) -> Result<(), PackageError> {
    staged.name_over(file).map_err(PackageError::io("replace", file))?;
    flush(file)
}

/// Puts the original over the file, under which it is a second name then.
pub(super) fn restore(kept: &Path, file: &Path) -> Result<(), PackageError> {
    let restoring = hidden(file, RESTORING);
    remove(&restoring)?;
    link(kept, &restoring)?;
    std::fs::rename(&restoring, file).map_err(PackageError::io("restore", file))?;
    // A rename onto the same file does nothing.
    remove(&restoring)?;
    flush(file)
}

/// What a kill in [`restore`] left.
pub(super) fn remove_restoring(file: &Path) -> Result<(), PackageError> {
    remove(&hidden(file, RESTORING))
}

/// Removes a name, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), PackageError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PackageError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Flushes the names in the directory of a file.
pub(super) fn flush(file: &Path) -> Result<(), PackageError> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    // The directory may be gone with its package.
    let Ok(open) = File::open(directory) else { return Ok(()) };
    flush_directory(directory, &open).map_err(PackageError::io("flush", directory))
}
