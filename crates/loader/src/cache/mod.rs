//! /etc/ld.so.cache, in glibc's own format: from library names to paths.
//!
//! The file is sorted for binary search, with digits compared as numbers (`libx.so.10` comes before `libx.so.9`). The
//! search takes the first entry that matches, so the order of entries is significant.
//!
//! [`LdSoCache`] reads a cache and looks up names. [`scan()`] selects the libraries of directories for a cache, as
//! `ldconfig` does, and [`CacheBuilder`] writes it, byte for byte as `ldconfig` does.

mod conf;
mod describe;
mod entry;
mod family;
mod faults;
mod library;
mod lookup;
mod order;
mod read;
mod scan;
mod strings;
mod write;

pub use conf::{ConfLine, RequestedDirectory, read_conf};
pub use entry::{CacheEntry, EntryHwcap};
pub use family::{FAMILIES, Family};
pub use faults::Shadowed;
pub use library::{Library, NoLibrary};
pub use order::{Characters, compare_names};
pub use read::{CacheError, is_cache};
pub use scan::{DirectorySource, Listed, Scan, ScanRules, ScannedLibrary, is_library_name, read_back, scan};
pub use write::{CacheBuilder, NewEntry, NewHwcap, WriteError};

use std::ops::Range;

/// How the entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheFormat {
    /// Only `glibc-ld.so.cache1.1` (`ldconfig -c new`, the default since 2.32).
    New,
    /// The format of libc5 first, then the new one, which takes precedence (`ldconfig -c compat`).
    NewAfterOld,
    /// Only the format of libc5 and glibc 2.1, without processor levels (`ldconfig -c old`).
    Old,
}

/// A loader cache that was read and checked: each name and path is within the file and terminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdSoCache {
    bytes: Box<[u8]>,
    records: Vec<Record>,
    hwcaps: Vec<Range<usize>>,
    generator: Option<Range<usize>>,
    format: CacheFormat,
    big_endian: bool,
    characters: Characters,
}

/// An entry, with its strings as ranges of the file: hostile entries may share one long string a million times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    flags: u32,
    name: Range<usize>,
    path: Range<usize>,
    os_version: u32,
    hwcap: u64,
}

impl LdSoCache {
    /// The entries in the file's order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = CacheEntry<'_>> {
        self.records.iter().map(|record| self.entry(record))
    }

    /// How the entries are stored.
    pub fn format(&self) -> CacheFormat {
        self.format
    }

    /// Whether numbers are big-endian.
    pub fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Names of processor levels that entries refer to by number ([`EntryHwcap::Level`]).
    pub fn hwcaps(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.hwcaps.iter().map(|place| self.text(place))
    }

    /// The generator's own name for itself: "ldconfig (Debian GLIBC 2.36-9+deb12u14) stable ...".
    pub fn generator(&self) -> Option<&[u8]> {
        self.generator.as_ref().map(|place| self.text(place))
    }

    /// How the loader of the cache's architecture compares characters.
    pub fn characters(&self) -> Characters {
        self.characters
    }

    fn entry(&self, record: &Record) -> CacheEntry<'_> {
        CacheEntry {
            flags: record.flags,
            name: self.text(&record.name),
            path: self.text(&record.path),
            os_version: record.os_version,
            hwcap: record.hwcap,
        }
    }

    fn text(&self, place: &Range<usize>) -> &[u8] {
        self.bytes.get(place.clone()).unwrap_or_default()
    }
}
