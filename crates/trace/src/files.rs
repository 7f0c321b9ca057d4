//! From opened names and page fills to the files of a working set.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use coldstart_analyse::kernel_number;
use coldstart_profile::{DiskExtent, FileIdentity, FileKind, FileUse, PageRange, Touched, merge_ranges, page_count};
use coldstart_sys::named_file::{LastLink, NamedFile};
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use rustix::fs::{Mode, OFlags};

use crate::block_device::BlockDevice;
use crate::cached_reads::cached_by_reading;
use crate::names::SeenFile;
use crate::{PageFill, RecordingNotes, SeenName, SeenRequest};

/// The recorded interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Wall clock at the launch, to compare with modification times.
    pub(crate) started: SystemTime,
    /// `CLOCK_MONOTONIC` at the launch.
    pub(crate) from: Duration,
    /// `CLOCK_MONOTONIC` at readiness.
    pub(crate) to: Duration,
}

/// Gathers files and their pages.
pub(crate) struct FileCollector<'notes> {
    span: Span,
    /// The private view of the start.
    mounts: Option<&'notes PrivateMounts>,
    /// By (device, inode) in the kernel's numbering, in order of time; `None` without a recording.
    fills: Option<HashMap<(u64, u64), Vec<PageFill>>>,
    /// Whether currently cached pages count as used, besides the fills.
    counts_resident: bool,
    seen: HashSet<(u64, u64)>,
    devices: Vec<u64>,
    files: Vec<FileUse>,
    notes: &'notes mut RecordingNotes,
}

impl<'notes> FileCollector<'notes> {
    pub(crate) fn new(span: Span, fills: Option<Vec<PageFill>>, notes: &'notes mut RecordingNotes) -> Self {
        let by_file = |fills: Vec<PageFill>| {
            let mut by_file: HashMap<(u64, u64), Vec<PageFill>> = HashMap::new();
            for fill in fills.into_iter().filter(|fill| (span.from..=span.to).contains(&fill.at)) {
                by_file.entry((fill.device, fill.inode)).or_default().push(fill);
            }
            by_file
        };
        let fills = fills.map(by_file);
        let (seen, devices, files) = (HashSet::new(), Vec::new(), Vec::new());
        Self { span, mounts: None, fills, counts_resident: true, seen, devices, files, notes }
    }

    /// Of a start in a private view.
    pub(crate) fn inside(self, mounts: Option<&'notes PrivateMounts>) -> Self {
        Self { mounts, ..self }
    }

    /// Counts only fills as used pages: if all uses are among them, or the start is long over.
    pub(crate) fn without_resident(self) -> Self {
        Self { counts_resident: false, ..self }
    }

    /// Adds the regular files that were opened for their content.
    pub(crate) fn add_opened(&mut self, names: &[SeenName]) {
        let until = self.span.to;
        for name in names.iter().filter(|name| name.request == SeenRequest::Content && name.at <= until) {
            if let Some(file) = name.file.as_ref().filter(|file| file.is_regular)
                && self.seen.insert((file.device, file.inode))
            {
                self.add_file(file, &name.path, name.at.saturating_sub(self.span.from));
            }
        }
    }

    /// `name` is another name of it: in another mount namespace its path there is not ours.
    fn add_file(&mut self, file: &SeenFile, name: &Path, opened_at: Duration) {
        // A file that was removed or replaced since cannot be prefetched.
        let find = |path: &Path| {
            let found = NamedFile::find(path, LastLink::Keep).and_then(NamedFile::regular);
            let (descriptor, stat) = found.and_then(|found| found.open(OFlags::empty())).ok()?;
            ((stat.st_dev, stat.st_ino) == (file.device, file.inode)).then_some((OwnedFd::from(descriptor), stat))
        };
        let mounts = self.mounts;
        let found = [&*file.real_path, name].into_iter().find_map(|path| {
            let place = outside(mounts, path);
            let (descriptor, stat) = find(place)?;
            Some((path, place, descriptor, stat))
        });
        let Some((path, place, descriptor, stat)) = found else { return };
        if stat.st_size == 0 {
            return;
        }
        if lives_in_memory(&descriptor) {
            self.notes.memory_files += 1;
            return;
        }
        let kind = match fs::metadata(place) {
            // Created by the start itself: it will be created again, not read.
            Ok(metadata) if metadata.created().is_ok_and(|created| created >= self.span.started) => return,
            Ok(metadata) if changed_since(&metadata, self.span.started) => FileKind::Rewritten,
            _ => FileKind::Regular,
        };
        let fills = self.fills.as_mut().and_then(|fills| fills.remove(&(kernel_number(file.device), file.inode)));
        let limit = page_count(stat.st_size as u64);
        let mut touched = touched_by_fills(fills.as_deref().unwrap_or_default(), self.span.from, limit);
        let told = || {
            resident_pages(&descriptor)
                .or_else(|reason| cached_by_reading(&descriptor, stat.st_size as u64).ok_or(reason))
        };
        match if self.counts_resident { told() } else { Ok(Vec::new()) } {
            Ok(resident) => touched.extend(not_yet_touched(resident, &touched, opened_at)),
            Err(reason) if touched.is_empty() => {
                self.notes.unknown_files.push(format!("{}: {reason}", path.display()));
            }
            Err(_) => {}
        }
        if touched.is_empty() {
            return;
        }
        if !self.devices.contains(&file.device) {
            self.devices.push(file.device);
        }
        self.files.push(FileUse {
            path: path.to_owned(),
            kind,
            identity: FileIdentity::from_stat(stat.st_size, stat.st_mtime, stat.st_mtime_nsec as i64),
            device: file.device,
            touched,
            extents: extents(&descriptor),
        });
    }

    /// Adds the metadata blocks of the file systems with these files.
    pub(crate) fn add_metadata(&mut self) {
        for number in std::mem::take(&mut self.devices) {
            match BlockDevice::behind(number) {
                Ok(device) => self.add_block_device(&device),
                Err(reason) => self.notes.no_metadata.push(reason),
            }
        }
    }

    fn add_block_device(&mut self, device: &BlockDevice) {
        let touched = match &mut self.fills {
            Some(fills) => {
                // The pages of a block device belong to an inode of the bdev pseudo file system (major number 0) whose
                // inode number is the device's own (`bdev_add` in `block/bdev.c`).
                let inode = kernel_number(device.number);
                let key = fills.keys().copied().find(|&(host, number)| number == inode && host >> 20 == 0);
                let fills = key.and_then(|key| fills.remove(&key)).unwrap_or_default();
                touched_by_fills(&fills, self.span.from, page_count(device.size))
            }
            None if !self.counts_resident => Vec::new(),
            None => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
                let resident = rustix::fs::open(&device.path, flags, Mode::empty())
                    .map_err(|error| std::io::Error::from(error).to_string())
                    .and_then(|descriptor| resident_pages(&descriptor));
                match resident {
                    Ok(resident) => not_yet_touched(resident, &[], Duration::ZERO),
                    Err(reason) => {
                        self.notes.no_metadata.push(format!("{}: {reason}", device.path.display()));
                        return;
                    }
                }
            }
        };
        if !touched.is_empty() {
            self.files.push(FileUse {
                path: device.path.clone(),
                kind: FileKind::BlockDevice,
                identity: FileIdentity { size: device.size, modified: 0 },
                device: device.number,
                touched,
                extents: Vec::new(),
            });
        }
    }

    /// The files in order of first use.
    pub(crate) fn finish(mut self) -> Vec<FileUse> {
        let unnamed = self.fills.iter().flat_map(HashMap::values).flatten().map(|fill| fill.pages).sum();
        self.notes.unnamed_pages = unnamed;
        self.files.sort_by_key(|file| file.touched.iter().map(|touched| touched.at).min());
        self.files
    }
}

/// Fills as runs: a fill that continues the previous one belongs to the same read.
fn touched_by_fills(fills: &[PageFill], from: Duration, limit: u64) -> Vec<Touched> {
    let mut seen = HashSet::new();
    let mut touched: Vec<Touched> = Vec::new();
    for fill in fills {
        for page in fill.page..fill.page.saturating_add(fill.pages).min(limit) {
            // A page that was dropped and read again counts at its first entry.
            if !seen.insert(page) {
                continue;
            }
            match touched.last_mut() {
                Some(last) if last.range.end().0 == page => last.range.count += 1,
                _ => {
                    let at = fill.at.saturating_sub(from);
                    touched.extend(PageRange::new(page, 1).map(|range| Touched { range, at }));
                }
            }
        }
    }
    touched
}

/// Resident pages outside `touched`, first used when their file was opened.
fn not_yet_touched(resident: Vec<PageRange>, touched: &[Touched], opened_at: Duration) -> Vec<Touched> {
    let known = merge_ranges(touched.iter().map(|touched| touched.range).collect(), 0);
    let mut rest = Vec::new();
    for range in resident {
        let mut start = range.start.0;
        let overlapping = known.iter().skip(known.partition_point(|known| known.end() <= range.start));
        for known in overlapping.take_while(|known| known.start < range.end()) {
            rest.extend(PageRange::new(start, known.start.0.saturating_sub(start)));
            start = known.end().0;
        }
        rest.extend(PageRange::new(start, range.end().0.saturating_sub(start)));
    }
    rest.into_iter().map(|range| Touched { range, at: opened_at }).collect()
}

fn resident_pages(descriptor: &OwnedFd) -> Result<Vec<PageRange>, String> {
    coldstart_pagecache::pages(descriptor).map_err(|error| error.to_string())
}

fn extents(descriptor: &OwnedFd) -> Vec<DiskExtent> {
    // Without disk offsets the plan is only less well ordered.
    let Ok(extents) = coldstart_sys::fiemap::fiemap(descriptor) else { return Vec::new() };
    let place = |extent: &coldstart_sys::fiemap::Extent| {
        let physical = extent.device_offset()?;
        Some(DiskExtent { file_offset: extent.file_offset, physical, length: extent.length })
    };
    extents.iter().filter_map(place).collect()
}

fn changed_since(metadata: &fs::Metadata, moment: SystemTime) -> bool {
    let moment = moment.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
    // Modification time alone could have been set back (`utimes`); the change time cannot.
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()) >= moment
}

/// Whether the file system keeps its files in memory only.
pub(crate) fn lives_in_memory(descriptor: &OwnedFd) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    rustix::fs::fstatfs(descriptor).is_ok_and(|stat| matches!(stat.f_type, TMPFS | RAMFS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::PageIndex;

    fn fill(page: u64, pages: u64, at: u64) -> PageFill {
        PageFill { device: 1, inode: 2, page, pages, at: Duration::from_millis(at), thread: 3 }
    }

    #[test]
    fn fills_become_runs_in_order_of_first_use() {
        let fills = [fill(8, 4, 110), fill(12, 4, 110), fill(0, 1, 120), fill(9, 1, 130)];
        let touched = touched_by_fills(&fills, Duration::from_millis(100), 15);
        let flat: Vec<_> = touched.iter().map(|t| (t.range.start.0, t.range.count, t.at.as_millis())).collect();
        assert_eq!(
            flat,
            [(8, 7, 10), (0, 1, 20)],
            "behind the file's end nothing is used; a second read is not a first"
        );
    }

    #[test]
    fn resident_pages_around_known_ones_are_added() {
        let range = |start, count| PageRange { start: PageIndex(start), count };
        let known = [range(2, 2), range(6, 1)].map(|range| Touched { range, at: Duration::ZERO });
        let rest = not_yet_touched(vec![range(0, 10), range(20, 1)], &known, Duration::from_millis(7));
        let flat: Vec<_> = rest.iter().map(|t| (t.range.start.0, t.range.count)).collect();
        assert_eq!(flat, [(0, 2), (4, 2), (7, 3), (20, 1)]);
    }
}
