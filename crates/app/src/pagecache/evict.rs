//! `pagecache evict`: remove files from the page cache, and report what remained and why.

use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;

use coldstart_pagecache::{Evicted, FileKey, FoundFile, Holders, KnownPages, Stayed, find_holders};
use coldstart_profile::{JsonPath, PAGE_SIZE};
use serde::{Serialize, Serializer};

use super::metadata::{MetadataWay, Places};
use super::passage::{FilesOptions, Passed, Untold, over_files};
use super::reasons::JsonReason;
use super::shortlist::Shortlist;
use super::show::JsonResidency;
use super::{ListOptions, SortKey};
use crate::observer::Observer;

/// The name and version of the JSON schema.
pub const EVICT_SCHEMA: &str = "coldstart.pagecache.evict/1";

/// Which files to evict, and how.
#[derive(Clone, Debug, Default)]
pub struct EvictOptions {
    /// Which files.
    pub files: FilesOptions,
    /// Which of them are listed.
    pub list: ListOptions,
    /// Whether dirty pages are written to disk first; the kernel does not drop them otherwise.
    pub write_first: bool,
    /// Whether to evict all unused directory entries and inodes, and the metadata blocks of the files' file systems, too.
    pub metadata: bool,
}

/// The result of an eviction.
#[derive(Debug, Serialize)]
pub struct Evictions {
    /// Bytes of a page.
    pub page_size: u64,
    /// The files that are listed.
    pub files: Vec<EvictedFile>,
    /// Files that are not.
    pub files_omitted: u64,
    /// All of them.
    pub total: EvictTotal,
    /// The skipped files.
    pub passed_over: Passed,
    /// Number of unreadable files and directories; each was reported to the observer.
    pub errors: u64,
    /// The result for metadata, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Vec<MetadataWay>>,
}

impl Evictions {
    /// Whether all pages are known to be evicted.
    pub fn is_complete(&self) -> bool {
        let is_refused = |ways: &Vec<MetadataWay>| ways.iter().any(|way| way.refused.is_some());
        self.total.stayed_files == 0 && self.total.unknown_files == 0 && !self.metadata.as_ref().is_some_and(is_refused)
    }
}

/// A file and its eviction.
#[derive(Debug)]
pub struct EvictedFile {
    /// The file.
    pub path: PathBuf,
    /// What was resident before and after.
    pub evicted: Evicted,
    /// Why pages remained.
    pub stayed: Vec<Stayed>,
}

impl Serialize for EvictedFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct File {
            #[serde(flatten)]
            path: JsonPath,
            /// `null` if unknown.
            gone: Option<bool>,
            before: JsonResidency,
            after: JsonResidency,
            stayed: Vec<JsonReason>,
        }
        let file = File {
            path: JsonPath::new(&self.path),
            gone: self.evicted.after.resident_pages().map(|pages| pages == 0),
            before: (&self.evicted.before).into(),
            after: (&self.evicted.after).into(),
            stayed: self.stayed.iter().map(JsonReason::from).collect(),
        };
        file.serialize(serializer)
    }
}

/// Totals of all files.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct EvictTotal {
    /// Number of files.
    pub files: u64,
    /// Their size in bytes.
    pub size: u64,
    /// Their resident pages before.
    pub resident_pages_before: u64,
    /// Their resident pages after.
    pub resident_pages_after: u64,
    /// Number of files with remaining pages.
    pub stayed_files: u64,
    /// Number of files with unknown residency, not in the page counts.
    pub unknown_files: u64,
    /// The same, by reason.
    #[serde(skip)]
    pub untold: Untold,
}

impl EvictTotal {
    fn add(&mut self, evicted: &Evicted) {
        self.files += 1;
        self.size = self.size.saturating_add(evicted.after.size);
        match (evicted.before.resident_pages(), evicted.after.resident_pages()) {
            (Some(before), Some(after)) => {
                self.resident_pages_before = self.resident_pages_before.saturating_add(before);
                self.resident_pages_after = self.resident_pages_after.saturating_add(after);
                self.stayed_files += u64::from(after > 0);
            }
            _ => self.unknown_files += 1,
        }
        self.untold.add(&evicted.after);
    }
}

/// Removes each file once from the page cache. No data is lost.
///
/// Unreadable files are reported to the observer.
pub fn evict(options: &EvictOptions, observer: &dyn Observer) -> Evictions {
    let how = coldstart_pagecache::EvictOptions { write_first: options.write_first };
    let mut total = EvictTotal::default();
    let by = |left: &EvictedFile, right: &EvictedFile| compare(options.list.sort, left, right);
    let mut listed = Shortlist::new(options.list.limit, by);
    let mut places = Places::default();
    let (passed_over, errors) = over_files(
        &options.files,
        observer,
        |file| file.evict(how),
        |FoundFile { path, .. }, evicted| {
            total.add(&evicted);
            if options.metadata {
                places.add(&path);
            }
            listed.push(EvictedFile { path, evicted, stayed: Vec::new() });
        },
    );
    let (mut files, files_omitted) = listed.finish();
    explain(&mut files);
    let metadata = options.metadata.then(|| places.evict());
    Evictions { page_size: PAGE_SIZE, files, files_omitted, total, passed_over, errors, metadata }
}

/// Files with remaining pages come first by default.
fn compare(sort: Option<SortKey>, left: &EvictedFile, right: &EvictedFile) -> Ordering {
    let by_path = || left.path.as_os_str().cmp(right.path.as_os_str());
    let descending = |key: fn(&EvictedFile) -> u64| Reverse(key(left)).cmp(&Reverse(key(right))).then_with(by_path);
    match sort {
        None => left.evicted.is_gone().cmp(&right.evicted.is_gone()),
        Some(SortKey::Path) => by_path(),
        Some(SortKey::Size) => descending(|row| row.evicted.after.size),
        Some(SortKey::Resident) => descending(|row| row.evicted.after.resident_pages().unwrap_or(0)),
    }
}

/// Finds the reasons for each file. Processes are looked through once, for the listed files together.
fn explain(files: &mut [EvictedFile]) {
    let key = |file: &EvictedFile| match file.evicted.after.known() {
        Some(KnownPages { resident_pages: 1.., .. }) => FileKey::of(&file.path).ok(),
        _ => None,
    };
    let keys: Vec<Option<FileKey>> = files.iter().map(key).collect();
    let holders: Holders = find_holders(&keys.iter().flatten().cloned().collect::<Vec<_>>());
    for (file, key) in files.iter_mut().zip(&keys) {
        let of_file = key.as_ref().map_or(&[][..], |key| holders.of(key));
        file.stayed = file.evicted.reasons(of_file, holders.unreadable_processes);
    }
}
