//! Figures of one file, present only if they were recorded.

use coldstart_profile::trace::figures::{Figures, FileFigures, SumOf};
use coldstart_profile::trace::{FileId, PagesSeen};

/// Of one file; `None`: not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileNumbers {
    /// Distinct pages of 4096 bytes that were used through a mapping.
    pub pages_touched: Option<u64>,
    /// Distinct pages that were read with `read(2)` or one of its kin.
    pub pages_read: Option<u64>,
    /// Distinct pages that came from the disk.
    pub pages_filled: Option<u64>,
    /// Of these, pages that came for the program and that it did not use. Not known with fault-around either: pages
    /// whose touches are not seen would count as wasted.
    pub pages_wasted: Option<u64>,
    /// Requests to the disk.
    pub requests: Option<u64>,
    /// First touches, of all processes.
    pub touches: Option<u64>,
    /// Of these, touches that waited for the disk.
    pub major_touches: Option<u64>,
    /// First calls of functions.
    pub functions: Option<u64>,
}

impl FileNumbers {
    /// Of a file of a trace with these figures; without figures of its own nothing that was recorded happened to it.
    pub fn of(file: FileId, figures: &Figures) -> Self {
        let (basis, seen, of_file) = (&figures.basis, figures.files_seen, figures.file(file));
        let has_touches = basis.has(SumOf::Touches);
        let number = |is_known: bool, count: fn(&FileFigures) -> u64| is_known.then(|| of_file.map_or(0, count));
        Self {
            pages_touched: number(has_touches, |file| file.pages.touched),
            pages_read: number(seen.reads, |file| file.pages.read),
            pages_filled: number(seen.fills, |file| file.pages.filled),
            pages_wasted: number(seen.fills && basis.pages == PagesSeen::Each, |file| file.pages.wasted),
            requests: number(seen.fills, |file| file.activity.disk_requests),
            touches: number(has_touches, |file| file.activity.touches.total().all),
            major_touches: number(has_touches, |file| file.activity.touches.total().major),
            functions: number(basis.has(SumOf::Functions), |file| file.activity.functions.total()),
        }
    }
}
