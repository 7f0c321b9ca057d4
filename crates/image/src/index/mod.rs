//! The index of a start image: a file in the image that says how it was made (`docs/formats/start-image.md`).
//!
//! Its front part, which a start needs, lies at the beginning of the hot range; the identities of the originals lie at the image's end. Not
//! obvious: the image's UUID is a digest of the front part, the front part has digests of the metadata and of the identities, and these
//! have digests of the contents. So every byte of an image is covered, although EROFS itself has one checksum only, of its first block.

mod decode;
mod encode;
mod sign;

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use coldstart_profile::{FileIdentity, PAGE_SIZE};

use crate::entry::Origin;

pub use decode::IndexError;
pub(crate) use decode::{decode, decode_front, front_length};
pub(crate) use encode::{encode, uuid};
pub(crate) use sign::{Sign, is_sign};

/// The directory of the image's own files.
pub const DIRECTORY: &str = "/.coldstart";
/// The index.
pub const INDEX: &str = "/.coldstart/start-image";
/// First bytes of an index.
pub(crate) const MAGIC: [u8; 8] = *b"coldimg\0";
/// Version that this build writes, and the only one that it reads.
pub(crate) const VERSION: u32 = 3;
/// Largest front part that is read, in bytes: 40 million runs.
pub(crate) const MOST_FRONT: u64 = 1 << 30;

/// Sizes of the parts, in bytes.
pub(crate) mod record {
    pub(crate) const HEADER: u64 = 168;
    pub(crate) const PROGRAM: u64 = 8;
    pub(crate) const TREE: u64 = 4;
    pub(crate) const HOT_FILE: u64 = 48;
    pub(crate) const RUN: u64 = 24;
    pub(crate) const ORIGINAL: u64 = 56;
}

/// A BLAKE3 digest.
pub type Digest = [u8; 32];

/// How an image was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Bytes of the image in front of the hot range: superblock, inodes, directories.
    pub metadata_length: u64,
    /// The hot range: bytes of the image. It begins with the front part of this index.
    pub hot: Range<u64>,
    /// Of the metadata, with the superblock's checksum and UUID as zeros.
    pub metadata_digest: Digest,
    /// Of an image with compressed files: the first 16 bytes of the BLAKE3 of all compressed data, from the first hot page to the end of the last block.
    pub packed: Option<[u8; 16]>,
    /// The programs whose starts gave the order.
    pub programs: Vec<OsString>,
    /// For each program a prefetch plan of what its starts read outside the image (`docs/formats/prefetch-plan.md`): directories, names, files that are
    /// not covered. Empty where nothing is known.
    pub outside: Vec<Vec<u8>>,
    /// Directories that were taken whole.
    pub trees: Vec<PathBuf>,
    /// Files with hot pages, in the order of their first one.
    pub files: Vec<HotFile>,
    /// Hot pages in their order: each run directly behind the one before, the first behind the pages of this index's front part.
    pub runs: Vec<HotPages>,
    /// What each regular file was made from, by inode number.
    pub originals: Vec<Original>,
}

/// A file with hot pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotFile {
    /// EROFS' number of its inode.
    pub number: u64,
    /// Its path, as the start named it.
    pub path: PathBuf,
    /// Size and modification time of its original.
    pub identity: FileIdentity,
    /// Its original's inode, where it is one of this machine.
    pub origin: Option<Origin>,
}

/// A run of hot pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotPages {
    /// Which programs use them: bit 0 is the first of [`Index::programs`].
    pub programs: u64,
    /// Index in [`Index::files`].
    pub file: u32,
    /// The first page.
    pub start: u32,
    /// Number of pages, at least 1.
    pub pages: u32,
    /// Bytes that they take if they are compressed, otherwise 0.
    pub packed: u32,
}

impl HotPages {
    /// Bytes that they take in the image.
    pub fn stored(&self) -> u64 {
        match self.packed {
            0 => u64::from(self.pages).saturating_mul(PAGE_SIZE),
            packed => packed.into(),
        }
    }
}

/// What a regular file of the image was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    /// EROFS' number of the inode in the image.
    pub number: u64,
    /// Size and modification time of the original.
    pub identity: FileIdentity,
    /// BLAKE3 of its content, holes as zeros.
    pub digest: Digest,
}

impl Index {
    /// The size of the front part, in bytes.
    pub fn front_length(&self) -> u64 {
        size(&self.counts()).0
    }

    pub(crate) fn counts(&self) -> Counts {
        // What was decoded or planned fits.
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let names = self.programs.iter().map(|name| name.len());
        let names = names.chain(self.trees.iter().map(|path| path.as_os_str().len()));
        let names = names.chain(self.files.iter().map(|file| file.path.as_os_str().len()));
        Counts {
            programs: count(self.programs.len()),
            trees: count(self.trees.len()),
            files: count(self.files.len()),
            runs: count(self.runs.len()),
            originals: count(self.originals.len()),
            names: count(names.sum()),
            outside: count(self.outside.iter().map(Vec::len).sum()),
        }
    }
}

/// How many records an index has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) programs: u32,
    pub(crate) trees: u32,
    pub(crate) files: u32,
    pub(crate) runs: u32,
    pub(crate) originals: u32,
    /// Bytes of all names.
    pub(crate) names: u32,
    /// Bytes of all plans.
    pub(crate) outside: u32,
}

/// Size of the front part and of the whole index, in bytes.
pub(crate) fn size(counts: &Counts) -> (u64, u64) {
    // 2^32 records of 56 bytes each are far below 2^64.
    let part = |count: u32, size: u64| u64::from(count).saturating_mul(size);
    let parts = [
        record::HEADER,
        part(counts.programs, record::PROGRAM),
        part(counts.trees, record::TREE),
        part(counts.files, record::HOT_FILE),
        part(counts.runs, record::RUN),
        part(counts.names, 1),
        part(counts.outside, 1),
    ];
    let front = parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part));
    (front, front.saturating_add(part(counts.originals, record::ORIGINAL)))
}

#[cfg(test)]
mod tests;
