//! Which pages enter the page cache, and when: the tracepoint `filemap:mm_filemap_add_to_page_cache`.
//!
//! The kernel names a page by (device, inode, offset), so no mapping has to be followed and reads by any process count.
//! An instance of our own keeps other users of tracefs undisturbed, and tracefs is mounted detached (`fsmount`), so there
//! is nothing to unmount. What a newcomer would not guess: instances outlive the process that made them, so those of
//! dead recorders are removed first. Source: `Documentation/trace/ftrace.rst`, `mm/filemap.c`.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::TraceError;

/// Each CPU's part of the ring buffer, in KiB: 32 bytes an event, so 1 GiB of single pages fit.
const BUFFER_KIB: u32 = 8192;
const EVENT: &str = "events/filemap/mm_filemap_add_to_page_cache/enable";
const INSTANCE_PREFIX: &str = "coldstart-";

/// Pages entering the page cache at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFill {
    /// `s_dev` of the file system, as `major << 20 | minor`; of a block device's own pages, its pseudo file system's.
    pub device: u64,
    /// Inode number; of a block device's own pages its device number, as `major << 20 | minor`.
    pub inode: u64,
    /// First page of the folio.
    pub page: u64,
    /// Number of pages in the folio.
    pub pages: u64,
    /// `CLOCK_MONOTONIC`.
    pub at: Duration,
}

/// A running recording of page-cache fills, of the whole system.
#[derive(Debug)]
pub struct PageFillRecorder {
    instance: PathBuf,
    /// Keeps the detached mount alive; the path goes through it.
    _mount: OwnedFd,
}

impl PageFillRecorder {
    /// Starts recording.
    ///
    /// # Errors
    /// [`TraceError::PageFills`] without `CAP_SYS_ADMIN`, or where the kernel has no tracefs or no such tracepoint.
    pub fn start() -> Result<Self, TraceError> {
        Self::try_start().map_err(|source| TraceError::PageFills { source })
    }

    fn try_start() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        let instances = PathBuf::from(format!("/proc/self/fd/{}/instances", mount.as_raw_fd()));
        remove_orphans(&instances);
        let instance = instances.join(format!("{INSTANCE_PREFIX}{}", std::process::id()));
        match fs::create_dir(&instance) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let recorder = Self { instance, _mount: mount };
        recorder.write("trace_clock", "mono")?;
        recorder.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        // Lost events must be lost at the end, where they can be told, not at the beginning.
        recorder.write("options/overwrite", "0")?;
        recorder.write(EVENT, "1")?;
        Ok(recorder)
    }

    /// Stops and hands over what was seen, in order of time, and how many events did not fit the buffer.
    ///
    /// # Errors
    /// Fails when tracefs cannot be read.
    pub fn finish(self) -> Result<(Vec<PageFill>, u64), TraceError> {
        let read = || {
            self.write(EVENT, "0")?;
            let text = fs::read_to_string(self.instance.join("trace"))?;
            let mut fills: Vec<_> = text.lines().filter_map(parse_fill).collect();
            fills.sort_by_key(|fill| fill.at);
            Ok((fills, self.lost_events()))
        };
        read().map_err(|source| TraceError::PageFills { source })
    }

    fn lost_events(&self) -> u64 {
        let Ok(cpus) = fs::read_dir(self.instance.join("per_cpu")) else { return 0 };
        let lost_of = |stats: String| {
            stats
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
                .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
                .sum::<u64>()
        };
        cpus.flatten().filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok()).map(lost_of).sum()
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.instance.join(file), value)
    }
}

impl Drop for PageFillRecorder {
    fn drop(&mut self) {
        // A directory in tracefs goes away whole; there is nobody left to tell if it does not.
        let _ = self.write(EVENT, "0");
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes the instances of recorders that were killed.
fn remove_orphans(instances: &std::path::Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(INSTANCE_PREFIX)).and_then(|id| id.parse().ok());
        if let Some(process) = process.and_then(rustix::process::Pid::from_raw)
            && rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
        {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Parses `  cat-71  [001] ..... 12.345678: mm_filemap_add_to_page_cache: dev 254:0 ino 5c1 pfn=0x1 ofs=4096 order=0`.
/// Comment lines and other events give `None`.
fn parse_fill(line: &str) -> Option<PageFill> {
    let (before, fields) = line.split_once(": mm_filemap_add_to_page_cache: dev ")?;
    let time = before.rsplit(' ').next()?;
    let (seconds, fraction) = time.split_once('.')?;
    let mut words = fields.split_ascii_whitespace();
    let (major, minor) = words.next()?.split_once(':')?;
    let mut inode = None;
    let mut offset = None;
    // Older kernels print no order: each event is one page.
    let mut order = 0u32;
    while let Some(word) = words.next() {
        match word.split_once('=') {
            None if word == "ino" => inode = u64::from_str_radix(words.next()?, 16).ok(),
            Some(("ofs", value)) => offset = value.parse::<u64>().ok(),
            Some(("order", value)) => order = value.parse().ok()?,
            _ => {}
        }
    }
    Some(PageFill {
        device: major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?,
        inode: inode?,
        page: offset? / coldstart_profile::PAGE_SIZE,
        pages: 1u64.checked_shl(order)?,
        at: Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(fraction.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_trace_are_read() {
        let line = "    soffice.bin-4711 [001] ...1.  812.000031: mm_filemap_add_to_page_cache: dev 7:0 ino 5c1 pfn=0x1f ofs=8192 order=2";
        let fill =
            PageFill { device: 7 << 20, inode: 0x5c1, page: 2, pages: 4, at: Duration::from_micros(812_000_031) };
        assert_eq!(parse_fill(line), Some(fill));
        let of_an_old_kernel = line.strip_suffix(" order=2").unwrap();
        assert_eq!(parse_fill(of_an_old_kernel).map(|fill| fill.pages), Some(1));
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in ["", "# tracer: nop", "x: mm_filemap_add_to_page_cache: dev 7:0 ino zz ofs=1", "dev 1:2"] {
            assert_eq!(parse_fill(line), None, "{line:?}");
        }
    }
}
