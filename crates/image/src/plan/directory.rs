//! How a directory's names are spread over its blocks.
//!
//! A block holds as many entries as fit with their names, in order of the bytes of the names; `.` and `..` are among them and have no
//! place of their own. No name spans two blocks.

use std::ops::Range;

use super::layout::{BLOCK, DIRENT_SIZE};

/// The blocks of a directory: which names are in each, and how many bytes they take.
pub(crate) fn blocks<'name>(names: impl Iterator<Item = &'name [u8]>) -> Vec<(Range<usize>, usize)> {
    let mut blocks = Vec::new();
    let (mut first, mut used, mut count) = (0, 0, 0);
    for (index, name) in names.enumerate() {
        let size = DIRENT_SIZE + name.len();
        if used + size > BLOCK as usize {
            blocks.push((first..index, used));
            (first, used) = (index, 0);
        }
        used += size;
        count = index + 1;
    }
    blocks.push((first..count, used));
    blocks
}

/// One block: the entries with inode numbers and types, then the names.
pub(crate) fn encode(entries: &[(&[u8], u64, u8)]) -> Vec<u8> {
    let mut name_offset = entries.len() * DIRENT_SIZE;
    let mut bytes = Vec::with_capacity(BLOCK as usize);
    for (name, number, file_type) in entries {
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&(name_offset as u16).to_le_bytes());
        bytes.extend_from_slice(&[*file_type, 0]);
        name_offset += name.len();
    }
    for (name, _, _) in entries {
        bytes.extend_from_slice(name);
    }
    bytes
}
