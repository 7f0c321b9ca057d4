//! Extended attributes as they lie behind an inode.
//!
//! A header of 12 bytes, then the attributes, each padded to 4 bytes: length of the name, number of its prefix, size of the value, the
//! name without its prefix, the value (`struct erofs_xattr_entry`). Shared attributes are not used.

use crate::entry::{Entry, Xattr};

use super::error::{PlanError, PlanProblem};

const HEADER: usize = 12;
const ENTRY_HEADER: usize = 4;

/// Prefixes and their numbers (`EROFS_XATTR_INDEX_*`). Access lists are named by the prefix alone.
const PREFIXES: [(&[u8], u8); 3] = [(b"user.", 1), (b"trusted.", 4), (b"security.", 6)];
const WHOLE_NAMES: [(&[u8], u8); 2] = [(b"system.posix_acl_access", 2), (b"system.posix_acl_default", 3)];

/// Number of a name's prefix and the rest of it.
fn split(name: &[u8]) -> Option<(u8, &[u8])> {
    if let Some((_, number)) = WHOLE_NAMES.iter().find(|(whole, _)| *whole == name) {
        return Some((*number, b""));
    }
    PREFIXES
        .iter()
        .find_map(|(prefix, number)| Some((*number, name.strip_prefix(*prefix)?)))
        .filter(|(_, rest)| !rest.is_empty() && !rest.contains(&0))
}

/// Size of all attributes of a file, in bytes: a multiple of 4, and 0 without attributes.
pub(crate) fn size(xattrs: &[Xattr]) -> usize {
    if xattrs.is_empty() {
        return 0;
    }
    HEADER + xattrs.iter().map(entry_size).sum::<usize>()
}

fn entry_size(xattr: &Xattr) -> usize {
    let rest = split(&xattr.name).map_or(0, |(_, rest)| rest.len());
    (ENTRY_HEADER + rest + xattr.value.len()).next_multiple_of(4)
}

/// The inode's field `i_xattr_icount` for attributes of this size.
pub(crate) fn count_field(size: usize) -> u16 {
    if size == 0 { 0 } else { u16::try_from((size - HEADER) / 4 + 1).unwrap_or(u16::MAX) }
}

/// Checks that EROFS can hold the attributes of an entry.
pub(super) fn check(entry: &Entry) -> Result<(), PlanError> {
    let refuse = |problem| Err(PlanError::new(&entry.path, problem));
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let xattrs = &entry.attributes.xattrs;
    for xattr in xattrs.iter() {
        let Some((_, rest)) = split(&xattr.name) else {
            return refuse(PlanProblem::XattrName(text(&xattr.name)));
        };
        if rest.len() > 255 || xattr.value.len() > usize::from(u16::MAX) {
            return refuse(PlanProblem::XattrSize { name: text(&xattr.name), size: xattr.value.len() });
        }
    }
    if let Some(pair) = xattrs.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        return refuse(PlanProblem::XattrName(text(&pair[1].name)));
    }
    let size = size(xattrs);
    if size > HEADER + 4 * (usize::from(u16::MAX) - 1) {
        let name = xattrs.last().map(|xattr| text(&xattr.name)).unwrap_or_default();
        return refuse(PlanProblem::XattrSize { name, size });
    }
    Ok(())
}

/// The bytes behind the inode; empty without attributes.
pub(crate) fn encode(xattrs: &[Xattr]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size(xattrs));
    if xattrs.is_empty() {
        return bytes;
    }
    // No filter of names (it would need a feature bit), no shared attributes.
    bytes.extend_from_slice(&[0; HEADER]);
    for xattr in xattrs {
        let (number, rest) = split(&xattr.name).unwrap_or((0, b""));
        bytes.push(rest.len() as u8);
        bytes.push(number);
        bytes.extend_from_slice(&(xattr.value.len() as u16).to_le_bytes());
        bytes.extend_from_slice(rest);
        bytes.extend_from_slice(&xattr.value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}
