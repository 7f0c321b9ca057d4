//! Without the kernel's tracepoints: what of the program's files is cached after the start.
//!
//! That is what came from the disk, if the files were evicted before. What a newcomer would not guess: asking for the pages of files
//! that the caller does not own is itself a read, so this is for the end of a recording (see `cached_reads`).

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use coldstart_profile::trace::FillCause;
use rustix::fs::{Mode, OFlags};

use super::log::{DiskFill, DiskLog, FileKey};
use crate::block_device::kernel_number;
use crate::cached_reads::cached_by_reading;
use crate::files::lives_in_memory;
use crate::names::SeenFile;
use crate::{NameLog, SeenRequest};

impl DiskLog {
    /// Counts what is cached now of the opened files as filled when they were first opened. To be called when the recorder could
    /// not record, the files were evicted before, and the program has ended; `started` is the wall clock at the launch: what the
    /// start itself made did not come from the disk.
    pub fn add_resident(&mut self, names: &NameLog, started: SystemTime) {
        let mut seen = HashSet::new();
        let mut unknown = 0u64;
        for name in names.names.iter().filter(|name| name.request == SeenRequest::Content) {
            let Some(file) = name.file.as_ref().filter(|file| file.is_regular) else { continue };
            let key = FileKey { device: kernel_number(file.device), inode: file.inode };
            if !seen.insert(key) {
                continue;
            }
            match resident(file, started) {
                Some(ranges) => self.fills.extend(ranges.into_iter().map(|(page, pages)| DiskFill {
                    at: name.at,
                    thread: name.thread,
                    file: key,
                    page,
                    pages,
                    cause: FillCause::Unknown,
                })),
                None => unknown = unknown.saturating_add(1),
            }
        }
        self.fills.sort_by_key(|fill| fill.at);
        self.notes.push(
            "What came from the disk is what of the opened files was cached at the end; its time is that of the first opening. \
             Metadata of the file system, files that were gone by then, and pages dropped meanwhile are missing."
                .to_owned(),
        );
        if unknown > 0 {
            self.notes.push(format!("Of {unknown} files it cannot be told what is cached."));
        }
    }
}

/// First page and number of pages of what is cached; nothing for what is not on a disk or not the same file any more.
fn resident(file: &SeenFile, started: SystemTime) -> Option<Vec<(u64, u64)>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let descriptor = rustix::fs::open(&file.real_path, flags, Mode::empty()).ok()?;
    let descriptor = std::fs::File::from(descriptor);
    let metadata = descriptor.metadata().ok()?;
    let is_made_by_the_start = metadata.created().is_ok_and(|created| created >= started);
    if (metadata.dev(), metadata.ino()) != (file.device, file.inode) || is_made_by_the_start {
        return Some(Vec::new());
    }
    let descriptor = descriptor.into();
    if lives_in_memory(&descriptor) {
        return Some(Vec::new());
    }
    let ranges =
        coldstart_pagecache::pages(&descriptor).ok().or_else(|| cached_by_reading(&descriptor, metadata.size()))?;
    Some(ranges.into_iter().map(|range| (range.start.0, range.count)).collect())
}
