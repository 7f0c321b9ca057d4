//! Directories: blocks of entries with names, sorted.

use super::Image;
use super::error::{ReadError, Result};
use super::inode::{Inode, InodeType};
use super::source::{ReadAt, u16_at, u64_at};

const ENTRY: usize = 12;
const LONGEST_NAME: usize = 255;
const WHAT: &str = "a directory";

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name: 1 to 255 bytes without `/` and NUL. `.` and `..` are among them.
    pub name: Vec<u8>,
    /// The number of its inode.
    pub number: u64,
    /// The type as the directory states it, which must be that of the inode (`FT_*`).
    pub(super) stated_type: u8,
}

impl<S: ReadAt> Image<S> {
    /// The entries of a directory, as they are: strictly ascending by name, by which the kernel searches.
    ///
    /// # Errors
    /// [`ReadError`]: malformed, out of order, or outside the image.
    pub fn directory(&self, inode: &Inode) -> Result<Vec<DirectoryEntry>> {
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        if inode.file_type != InodeType::Directory {
            return Err(ReadError::malformed(WHAT, inode.offset, "it is another kind of file"));
        }
        // Read whole, so a sparse one must not claim more than the image has.
        if inode.size > self.available {
            return Err(ReadError::malformed(WHAT, inode.offset, "it is larger than the image"));
        }
        let block_size = self.superblock.block_size();
        let mut buffer = vec![0; usize::try_from(block_size.min(inode.size)).unwrap_or(0)];
        let mut offset = 0u64;
        while offset < inode.size {
            let length = block_size.min(inode.size.saturating_sub(offset));
            let block = buffer.get_mut(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
            self.read_at(inode, offset, block)?;
            parse(block, inode.offset, &mut entries)?;
            offset = offset.saturating_add(length);
        }
        Ok(entries)
    }
}

/// Adds the entries of one block.
fn parse(block: &[u8], offset: u64, entries: &mut Vec<DirectoryEntry>) -> Result<()> {
    let malformed = |problem| ReadError::malformed(WHAT, offset, problem);
    let names = usize::from(u16_at(block.get(8..).unwrap_or_default(), 0));
    if names < ENTRY || names > block.len() || !names.is_multiple_of(ENTRY) {
        return Err(malformed("a block does not say how many entries it has"));
    }
    let (records, _) = block.split_at_checked(names).unwrap_or_default();
    let mut records = records.as_chunks::<ENTRY>().0.iter().peekable();
    while let Some(record) = records.next() {
        let start = usize::from(u16_at(record, 8));
        let end = records.peek().map(|next| usize::from(u16_at(*next, 8)));
        let name = block.get(start..end.unwrap_or(block.len()));
        let name = name.ok_or(malformed("a name lies outside its block"))?;
        // Only the last name of a block may end with a NUL instead of the next name.
        let name = match end {
            Some(_) => name,
            None => name.split(|byte| *byte == 0).next().unwrap_or_default(),
        };
        if start < names
            || name.is_empty()
            || name.len() > LONGEST_NAME
            || name.iter().any(|byte| b"/\0".contains(byte))
        {
            return Err(malformed("a name is impossible"));
        }
        if entries.last().is_some_and(|last| last.name.as_slice() >= name) {
            return Err(malformed("its names are out of order"));
        }
        let stated_type = record.get(10).copied().unwrap_or(0);
        entries.push(DirectoryEntry { name: name.to_vec(), number: u64_at(record, 0), stated_type });
    }
    Ok(())
}
