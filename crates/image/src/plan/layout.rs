//! Sizes and numbers of EROFS that the planner and the writer use (`fs/erofs/erofs_fs.h`).
//!
//! The reader has its own: a wrong number here must not be wrong there in the same way.

/// Size of a block in bytes. Equal to the page size of coldstart's data, so that a page is a block.
pub(crate) const BLOCK: u64 = 4096;
/// Where the superblock lies.
pub(crate) const SUPERBLOCK: u64 = 1024;
/// Its size.
pub(crate) const SUPERBLOCK_SIZE: u64 = 128;
/// Inodes lie at multiples of this; an inode's number is its offset divided by it.
pub(crate) const INODE_SLOT: u64 = 32;
/// Size of an inode in the extended form, the only one that has a time.
pub(crate) const INODE_SIZE: u64 = 64;
/// Size of a directory entry without its name.
pub(crate) const DIRENT_SIZE: usize = 12;
/// The longest name in bytes.
pub(crate) const LONGEST_NAME: usize = 255;
/// The longest path that system calls take, in bytes (`PATH_MAX` less its NUL).
pub(crate) const LONGEST_PATH: usize = 4095;
/// The longest target of a symbolic link: the kernel adds a NUL, and all of it fits in a page.
pub(crate) const LONGEST_TARGET: usize = 4095;
/// Address of a chunk that is a hole.
pub(crate) const HOLE: u32 = u32::MAX;
/// One more block would have the address that means a hole.
pub(crate) const MOST_BLOCKS: u64 = HOLE as u64;
/// The longest tail that lies behind its inode. A tail must not cross a block, and neither does an inode of ours: with this much
/// there is always a slot where both hold (see `place.rs`).
pub(crate) const MOST_INLINE: u64 = 4000;

/// Number of blocks that some bytes take.
pub(crate) fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK)
}
