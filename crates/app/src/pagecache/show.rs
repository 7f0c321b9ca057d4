//! `pagecache show`: how much of each file is resident, and where.

use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;

use coldstart_pagecache::{Backing, Cached, Detail, FoundFile, Residency};
use coldstart_profile::{JsonPath, PAGE_SIZE, PageRange};
use serde::{Serialize, Serializer};

use super::coverage::coverage;
use super::passage::{FilesOptions, Passed, Untold, over_files};
use super::shortlist::Shortlist;
use super::{ListOptions, SortKey};
use crate::observer::Observer;

/// The name and version of the JSON schema.
pub const SHOW_SCHEMA: &str = "coldstart.pagecache.show/1";

/// Which files to examine, and what to report.
#[derive(Clone, Debug, Default)]
pub struct ShowOptions {
    /// Which files.
    pub files: FilesOptions,
    /// Which of them are listed.
    pub list: ListOptions,
    /// Whether to report the approximate position of resident pages in each file.
    pub coverage: bool,
    /// Whether to keep the runs of resident pages; there may be very many.
    pub ranges: bool,
}

/// What is resident.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// Bytes of a page.
    pub page_size: u64,
    /// The files that are listed.
    pub files: Vec<ShownFile>,
    /// Files that are not.
    pub files_omitted: u64,
    /// All of them.
    pub total: ShowTotal,
    /// The skipped files.
    pub passed_over: Passed,
    /// Number of unreadable files and directories; each was reported to the observer.
    pub errors: u64,
}

/// A file and its residency.
#[derive(Debug)]
pub struct ShownFile {
    /// The file.
    pub path: PathBuf,
    /// Where resident pages are, by [`coverage`]; empty where that was not asked for or is not known.
    pub coverage: Vec<u8>,
    /// How much is resident; without its ranges, unless they were asked for.
    pub residency: Residency,
}

impl ShownFile {
    fn new(path: PathBuf, mut residency: Residency, options: &ShowOptions) -> Self {
        let mut drawn = Vec::new();
        if let Cached::Known(known) = &mut residency.cached {
            if options.coverage {
                drawn = coverage(known.ranges.as_deref().unwrap_or_default(), residency.file_pages);
            }
            if !options.ranges {
                known.ranges = None;
            }
        }
        Self { path, coverage: drawn, residency }
    }
}

impl Serialize for ShownFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct File {
            #[serde(flatten)]
            path: JsonPath,
            #[serde(flatten)]
            residency: JsonResidency,
        }
        File { path: JsonPath::new(&self.path), residency: (&self.residency).into() }.serialize(serializer)
    }
}

/// Totals of all files.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ShowTotal {
    /// Files that were looked at.
    pub files: u64,
    /// Their size in bytes; of sparse files this may be anything.
    pub size: u64,
    /// Their pages.
    pub file_pages: u64,
    /// Those that are resident.
    pub resident_pages: u64,
    /// The same in bytes.
    pub resident_bytes: u64,
    /// Number of files with unknown residency; their pages are in `file_pages` but not in `resident_pages`.
    pub unknown_files: u64,
    /// The same, by reason.
    #[serde(skip)]
    pub untold: Untold,
    /// Files of file systems that live in memory.
    #[serde(skip)]
    pub in_memory_files: u64,
    /// Pages of files with known residency.
    #[serde(skip)]
    pub known_pages: u64,
}

impl ShowTotal {
    /// Whether anything is known of any file.
    pub fn is_told(&self) -> bool {
        self.unknown_files < self.files
    }

    fn add(&mut self, residency: &Residency) {
        self.files += 1;
        // Sizes of sparse files can add up to anything.
        self.size = self.size.saturating_add(residency.size);
        self.file_pages = self.file_pages.saturating_add(residency.file_pages);
        match residency.resident_pages() {
            Some(pages) => {
                self.known_pages = self.known_pages.saturating_add(residency.file_pages);
                self.resident_pages = self.resident_pages.saturating_add(pages);
                self.resident_bytes = self.resident_pages.saturating_mul(PAGE_SIZE);
            }
            None => self.unknown_files += 1,
        }
        self.untold.add(residency);
        if residency.backing == Backing::Memory {
            self.in_memory_files += 1;
        }
    }
}

/// Examines each file once. Nothing is read into the page cache.
///
/// Unreadable files are reported to the observer.
pub fn show(options: &ShowOptions, observer: &dyn Observer) -> Shown {
    let mut total = ShowTotal::default();
    let by = |left: &ShownFile, right: &ShownFile| compare(options.list.sort, left, right);
    let mut listed = Shortlist::new(options.list.limit, by);
    // Ranges are found only if they are shown.
    let detail = if options.ranges || options.coverage { Detail::Ranges } else { Detail::Counts };
    let (passed_over, errors) = over_files(
        &options.files,
        observer,
        |file| file.residency(detail),
        |FoundFile { path, .. }, residency| {
            total.add(&residency);
            listed.push(ShownFile::new(path, residency, options));
        },
    );
    let (files, files_omitted) = listed.finish();
    Shown { page_size: PAGE_SIZE, files, files_omitted, total, passed_over, errors }
}

fn compare(sort: Option<SortKey>, left: &ShownFile, right: &ShownFile) -> Ordering {
    let by_path = || left.path.as_os_str().cmp(right.path.as_os_str());
    let descending = |key: fn(&ShownFile) -> u64| Reverse(key(left)).cmp(&Reverse(key(right))).then_with(by_path);
    match sort {
        None => Ordering::Equal,
        Some(SortKey::Path) => by_path(),
        Some(SortKey::Size) => descending(|row| row.residency.size),
        Some(SortKey::Resident) => descending(|row| row.residency.resident_pages().unwrap_or(0)),
    }
}

/// A file in JSON. Pages are of 4096 bytes.
#[derive(Serialize)]
pub(super) struct JsonResidency {
    size: u64,
    file_pages: u64,
    resident_pages: Option<u64>,
    resident_bytes: Option<u64>,
    dirty_pages: Option<u64>,
    writeback_pages: Option<u64>,
    /// "storage", "memory" or "layered".
    backing: &'static str,
    /// "cachestat", "mincore" or "empty".
    method: Option<&'static str>,
    /// Why nothing is known: "not-permitted", "unsupported", "too-large".
    unknown: Option<&'static str>,
    /// Pairs of first page and number of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<(u64, u64)>>,
}

impl From<&Residency> for JsonResidency {
    fn from(residency: &Residency) -> Self {
        let known = residency.known();
        let pair = |range: &PageRange| (range.start.0, range.count);
        Self {
            size: residency.size,
            file_pages: residency.file_pages,
            resident_pages: residency.resident_pages(),
            resident_bytes: residency.resident_pages().map(|pages| pages.saturating_mul(PAGE_SIZE)),
            dirty_pages: known.and_then(|known| known.dirty_pages),
            writeback_pages: known.and_then(|known| known.writeback_pages),
            backing: match residency.backing {
                Backing::Storage => "storage",
                Backing::Memory => "memory",
                Backing::Layered => "layered",
            },
            method: known.map(|known| known.method.name()),
            unknown: match residency.cached {
                Cached::Unknown(unknown) => Some(unknown.name()),
                Cached::Known(_) => None,
            },
            ranges: known.and_then(|known| known.ranges.as_ref()).map(|ranges| ranges.iter().map(pair).collect()),
        }
    }
}
