//! Reading EROFS images: ours, and those of mkfs.erofs without compression.
//!
//! | what | file |
//! |---|---|
//! | where bytes come from; fields | `source.rs` |
//! | features, block size, checksum | `superblock.rs` |
//! | inodes in both forms | `inode.rs` |
//! | extended attributes, inline and shared | `xattr.rs` |
//! | directories, checked: order, `.`, `..` | `directory.rs` |
//! | where a file's bytes lie, and those bytes | `content.rs` |
//! | of compressed files | `units.rs` |
//! | all entries | `walk.rs` |
//!
//! Nothing here is shared with the writer but the checksum's function and the types of attributes, and nothing in an image is
//! trusted: it may come from anyone. A damaged image gives an error with the offset, never a panic, a loop or an allocation of its choosing. Memory is bounded by the
//! directories that are open at a time, which together are no larger than the image.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod content;
mod directory;
mod error;
mod inode;
mod source;
mod superblock;
mod units;
mod walk;
mod xattr;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::index::{self, Index};

pub use content::{Piece, Pieces};
pub use directory::DirectoryEntry;
pub use error::{ReadError, Result};
pub use inode::{Inode, InodeType};
pub use source::ReadAt;
pub use superblock::Superblock;
pub use units::Packed;
pub use walk::{Found, Walk};

/// An image, open for reading.
#[derive(Debug)]
pub struct Image<S> {
    source: S,
    superblock: Superblock,
    /// Bytes that may be used: as the superblock says, and not more than there are.
    available: u64,
}

impl<S: ReadAt> Image<S> {
    /// Opens an image: reads its superblock and checks its checksum.
    ///
    /// # Errors
    /// [`ReadError`]: not EROFS, a feature that is not supported, a wrong checksum, an image shorter than it says.
    pub fn open(source: S) -> Result<Self> {
        let size = source.size().map_err(|source| ReadError::Io { offset: 0, source })?;
        let superblock = Superblock::read(&source, size)?;
        let available = superblock.length();
        if available > size {
            return Err(ReadError::OutOfImage {
                what: "its last block",
                offset: 0,
                needed: available,
                available: size,
            });
        }
        Ok(Self { source, superblock, available })
    }

    /// Bytes that lie behind the image: none in a file that was written as one; on a device what is left of it.
    ///
    /// # Errors
    /// The system's error.
    pub fn behind(&self) -> Result<u64> {
        let size = self.source.size().map_err(|source| ReadError::Io { offset: 0, source })?;
        Ok(size.saturating_sub(self.available))
    }

    /// The superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The root directory.
    ///
    /// # Errors
    /// As [`Self::inode`]; or it is not a directory.
    pub fn root(&self) -> Result<Inode> {
        let root = self.inode(self.superblock.root)?;
        if root.file_type != InodeType::Directory {
            return Err(ReadError::malformed("the root inode", root.offset, "it is not a directory"));
        }
        Ok(root)
    }

    /// All entries: each name of each file, in the order of names, directories before what they contain.
    pub fn walk(&self) -> Walk<'_, S> {
        Walk::new(self)
    }

    /// The file at an absolute path, symbolic links not followed; `None` if there is none.
    ///
    /// # Errors
    /// [`ReadError`], if something on the way is damaged.
    pub fn find(&self, path: &Path) -> Result<Option<Inode>> {
        let mut found = self.root()?;
        for name in path.as_os_str().as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if found.file_type != InodeType::Directory {
                return Ok(None);
            }
            let entries = self.directory(&found)?;
            let Some(entry) = entries.iter().find(|entry| entry.name == name) else { return Ok(None) };
            found = self.inode(entry.number)?;
        }
        Ok(Some(found))
    }

    /// How the image was made, if it is a start image.
    ///
    /// # Errors
    /// [`ReadError::Index`] if the index is damaged or newer than this coldstart.
    pub fn index(&self) -> Result<Option<Index>> {
        let Some(front) = self.index_front()? else { return Ok(None) };
        let Some(inode) = self.find(Path::new(index::INDEX))? else { return Ok(None) };
        let rest = self.bytes(&inode, front.len() as u64, inode.size.saturating_sub(front.len() as u64))?;
        index::decode(&front, &rest).map(Some).map_err(ReadError::Index)
    }

    /// The bytes of the index's front part, whose digest is the UUID.
    pub(crate) fn index_front(&self) -> Result<Option<Vec<u8>>> {
        let Some(inode) = self.find(Path::new(index::INDEX))? else { return Ok(None) };
        if inode.file_type != InodeType::Regular {
            return Ok(None);
        }
        let header = self.bytes(&inode, 0, index::record::HEADER.min(inode.size))?;
        let length = index::front_length(&header).map_err(ReadError::Index)?;
        self.bytes(&inode, 0, length).map(Some)
    }

    /// Some bytes of a file, all of which must be in it.
    fn bytes(&self, inode: &Inode, offset: u64, length: u64) -> Result<Vec<u8>> {
        let inside = offset.checked_add(length).is_some_and(|end| end <= inode.size);
        // A sparse file may be larger than the image.
        if !inside || length > self.available {
            return Err(ReadError::OutOfImage {
                what: "part of a file",
                offset: inode.offset,
                needed: length,
                available: inode.size,
            });
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.read_at(inode, offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills a buffer from a place of the image.
    pub(crate) fn raw(&self, what: &'static str, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check(what, offset, buffer.len() as u64)?;
        self.source.read_exact_at(buffer, offset).map_err(|source| ReadError::Io { offset, source })
    }

    /// Checks that a range lies in the image.
    fn check(&self, what: &'static str, offset: u64, needed: u64) -> Result<()> {
        match offset.checked_add(needed) {
            Some(end) if end <= self.available => Ok(()),
            _ => Err(ReadError::OutOfImage { what, offset, needed, available: self.available }),
        }
    }
}
