//! Copies extended attributes and access lists from one open file to another.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::path::Path;

use coldstart_output::MARK;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::error::ReplaceError;
use super::metadata::Purpose;

/// The largest list of names and the largest value of an attribute (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`), in bytes.
const LARGEST: usize = 1 << 16;
/// The attribute that holds a file's POSIX access list.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";
const CAPABILITIES: &CStr = c"security.capability";
/// They are valid for one content only, the second for one file only.
const SIGNATURES: [&CStr; 2] = [c"security.ima", c"security.evm"];

/// Copies all attributes except the access list. Returns the omitted ones.
///
/// # Errors
/// [`ReplaceError::Metadata`] if capabilities cannot be copied, or, for a replacement in place, attributes of the
/// name space `user.`.
pub(super) fn copy_attributes(
    from: &File,
    to: &File,
    path: &Path,
    purpose: Purpose,
) -> Result<Vec<String>, ReplaceError> {
    let mut warnings = Vec::new();
    let failed = |name: &CStr, source: io::Error| ReplaceError::Metadata {
        what: format!("attribute {}", name.to_string_lossy()),
        path: path.to_owned(),
        source,
    };
    for name in names(from).map_err(|error| failed(c"list", error))? {
        let name = name.as_c_str();
        // The marker of a writer that was killed right after the rename.
        if name == ACCESS_LIST || belongs_to_a_layer(name) || name.to_bytes() == MARK.as_bytes() {
            continue;
        }
        if SIGNATURES.contains(&name) && purpose != Purpose::SameContent {
            warnings.push(format!(
                "{}: {} was not copied; sign the file again",
                path.display(),
                name.to_string_lossy()
            ));
            continue;
        }
        let Err(error) = copy(from, to, name) else { continue };
        let is_users = purpose == Purpose::InPlace && name.to_bytes().starts_with(b"user.");
        if name == CAPABILITIES || is_users {
            return Err(failed(name, error));
        }
        warnings.push(format!("{}: {} could not be kept ({error})", path.display(), name.to_string_lossy()));
    }
    Ok(warnings)
}

/// The result of copying the access list.
#[derive(Debug)]
pub(super) enum AccessList {
    /// The same list, or none as before.
    AsItWas,
    /// The new file cannot have the list.
    Impossible(io::Error),
}

/// Copies the access list; without one, removes the list inherited from the directory.
///
/// # Errors
/// If an inherited list cannot be removed.
pub(super) fn copy_access_list(from: &File, to: &File) -> io::Result<AccessList> {
    match value(from, ACCESS_LIST)? {
        Some(list) => Ok(match set(to, ACCESS_LIST, &list) {
            Ok(()) => AccessList::AsItWas,
            Err(error) => AccessList::Impossible(error),
        }),
        None => match fremovexattr(to, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(AccessList::AsItWas),
            Err(errno) => Err(errno.into()),
        },
    }
}

/// overlayfs's marks in the files of its layers; copied, they would misidentify the new file's content.
fn belongs_to_a_layer(name: &CStr) -> bool {
    [&b"trusted.overlay."[..], b"user.overlay."].iter().any(|prefix| name.to_bytes().starts_with(prefix))
}

fn copy(from: &File, to: &File, name: &CStr) -> io::Result<()> {
    match value(from, name)? {
        // A label that the new file already has need not be set, which may be forbidden.
        Some(wanted) if value(to, name).is_ok_and(|found| found.as_ref() == Some(&wanted)) => Ok(()),
        Some(wanted) => set(to, name, &wanted),
        None => Ok(()),
    }
}

fn set(to: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    Ok(fsetxattr(to, name, value, XattrFlags::empty())?)
}

/// The value of an attribute; `None` if the file does not have it.
fn value(file: &File, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = Vec::with_capacity(LARGEST);
    match fgetxattr(file, name, rustix::buffer::spare_capacity(&mut value)) {
        Ok(_) => Ok(Some(value)),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn names(file: &File) -> io::Result<Vec<CString>> {
    let mut list = Vec::with_capacity(LARGEST);
    match flistxattr(file, rustix::buffer::spare_capacity(&mut list)) {
        Ok(_) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(errno) => return Err(errno.into()),
    }
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}
