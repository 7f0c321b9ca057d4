//! Copies the metadata of a file to its replacement.
//!
//! The order matters. A change of owner clears set-ID bits and capabilities (`setattr_prepare`,
//! `security_inode_killpriv` in the kernel), so it comes first. Attributes of the name space `user.` need write
//! permission, which the mode may deny even to the owner, so they come before the mode. An access list changes the
//! mode's group bits, so the mode comes after it. And all of these change timestamps, so they come last.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Gid, Mode, Uid, fchmod, fchown, fstat, futimens};
use rustix::io::Errno;

use super::attributes::{AccessList, copy_access_list, copy_attributes};
use super::error::ReplaceError;
use super::original::OriginalFile;

/// The purpose of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// New content in place of the original: all metadata must be the same.
    InPlace,
    /// New content elsewhere: it may belong to the caller.
    Elsewhere,
    /// The same content elsewhere; signatures stay valid.
    SameContent,
}

/// Copies the owner, mode, attributes and times of the original to `file`. Returns the omitted ones.
///
/// # Errors
/// [`ReplaceError::Metadata`] for required metadata: see [`Purpose`]; always for capabilities, because a program
/// without them fails in ways that are hard to trace back to this.
pub(super) fn copy_metadata(
    original: &OriginalFile,
    file: &File,
    path: &Path,
    purpose: Purpose,
) -> Result<Vec<String>, ReplaceError> {
    let mut warnings = Vec::new();
    let failed =
        |what: &str, source: io::Error| ReplaceError::Metadata { what: what.to_owned(), path: path.to_owned(), source };
    let mut mode =
        original.facts().mode & !copy_owner(original, file, purpose).map_err(|errno| failed("owner", errno))?;
    if mode != original.facts().mode {
        warnings.push(format!("{}: its owner could not be kept, so the set-ID bits were cleared", path.display()));
    }
    warnings.extend(copy_attributes(original.file(), file, path, purpose)?);
    match copy_access_list(original.file(), file).map_err(|error| failed("access list", error))? {
        AccessList::AsItWas => {}
        AccessList::Impossible(error) if purpose == Purpose::InPlace => return Err(failed("access list", error)),
        AccessList::Impossible(error) => {
            // With an access list, the mode's group bits are the mask. Taken as the group's own permissions, they
            // would grant too much.
            mode &= !0o070;
            warnings.push(format!(
                "{}: its access list could not be kept ({error}), so its group permissions were cleared",
                path.display()
            ));
        }
    }
    copy_mode(file, mode).map_err(|error| failed("mode", error))?;
    futimens(file, &original.identity().times()).map_err(|errno| failed("times", errno.into()))?;
    Ok(warnings)
}

/// The mode without the bits that would grant other privileges than before.
fn copy_owner(original: &OriginalFile, file: &File, purpose: Purpose) -> io::Result<u32> {
    let facts = original.facts();
    let now = fstat(file)?;
    if (now.st_uid, now.st_gid) == (facts.owner, facts.group) {
        return Ok(0);
    }
    let (owner, group) = (Uid::from_raw(facts.owner), Gid::from_raw(facts.group));
    match fchown(file, Some(owner), Some(group)) {
        Ok(()) => return Ok(0),
        // EINVAL: an id that is not mapped in this user namespace.
        Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) if purpose != Purpose::InPlace => {}
        Err(errno) => return Err(errno.into()),
    }
    // The group may be one of the caller's.
    let _ = fchown(file, None, Some(group));
    let now = fstat(file)?;
    let user_bit = if now.st_uid == facts.owner { 0 } else { 0o4000 };
    let group_bit = if now.st_gid == facts.group { 0 } else { 0o2000 };
    Ok(user_bit | group_bit)
}

fn copy_mode(file: &File, mode: u32) -> io::Result<()> {
    // File systems without modes refuse to change them even to the same value.
    if fstat(file)?.st_mode & 0o7777 == mode {
        return Ok(());
    }
    Ok(fchmod(file, Mode::from_raw_mode(mode))?)
}
