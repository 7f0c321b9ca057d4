//! Zip files: read as they lie, and rewritten with their entries in another order.
//!
//! Sources: PKWARE's APPNOTE 6.3.10; the layout that Firefox reads fastest from `python/mozbuild/mozpack/mozjar.py`.

mod end;
mod error;
mod plan;
mod read;
mod same;
mod signed;
mod used;

use std::ops::Range;

pub use error::{SameError, ZipError};
pub use plan::{Piece, ZipPlan};
pub use same::{digest, same};
pub use used::{named_entries, used_entries};

/// Where the central directory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZipLayout {
    /// Behind the entries, as in nearly all zip files.
    Plain,
    /// In front of the entries, between two equal end records; the first four bytes say how much Firefox reads ahead.
    Mozilla,
}

/// A zip file as it lies.
#[derive(Clone, Debug)]
pub struct ZipArchive<'a> {
    bytes: &'a [u8],
    /// In the order of the central directory.
    entries: Vec<ZipEntry>,
    layout: ZipLayout,
    /// Bytes in front of the first entry, which belong to no entry: a script, a program.
    prefix: Range<usize>,
    /// What must be added to each offset in the file: the length of a prefix that was put in front later.
    base: usize,
    directory: Range<usize>,
    end: end::End,
    /// Zeros between entries.
    padding: usize,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipEntry {
    /// Its name, in whatever encoding.
    pub name: Vec<u8>,
    /// From its local header to the end of its data, with the data descriptor.
    pub record: Range<usize>,
    /// Compression method: 0 stored, 8 deflated.
    pub method: u16,
    /// General purpose flags.
    pub flags: u16,
    /// Its header in the central directory.
    central: Range<usize>,
    /// Where the extra field for large sizes has the offset, counted from the start of the central header.
    wide_offset: Option<usize>,
}

impl<'a> ZipArchive<'a> {
    /// The entries in the order of the central directory.
    pub fn entries(&self) -> &[ZipEntry] {
        &self.entries
    }

    /// Where the central directory lies.
    pub fn layout(&self) -> ZipLayout {
        self.layout
    }

    /// Bytes in front of the archive.
    pub fn prefix(&self) -> &'a [u8] {
        self.bytes.get(self.prefix.clone()).unwrap_or_default()
    }

    /// The comment of the archive.
    pub fn comment(&self) -> &'a [u8] {
        self.bytes.get(self.end.comment.clone()).unwrap_or_default()
    }

    /// Bytes of zeros between the entries, which a rewritten file does not have.
    pub fn padding(&self) -> u64 {
        self.padding as u64
    }

    /// Whether it has the records for more than 65,535 entries or 4 GiB.
    pub fn is_wide(&self) -> bool {
        self.end.wide.is_some()
    }

    /// The numbers of the entries in the order in which they lie.
    pub fn physical_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|number| self.entries.get(*number).map(|entry| entry.record.start));
        order
    }

    fn record(&self, entry: &ZipEntry) -> &'a [u8] {
        self.bytes.get(entry.record.clone()).unwrap_or_default()
    }

    fn central(&self, entry: &ZipEntry) -> &'a [u8] {
        self.bytes.get(entry.central.clone()).unwrap_or_default()
    }
}
