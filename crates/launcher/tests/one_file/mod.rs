//! A plan of one file, and whether its pages are in memory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coldstart_prefetch::{PlanInput, Strategy, plan_prefetch};
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::{FileIdentity, FileKind, FileUse, PageRange, PageSource, Touched, WorkingSet};
use rustix::fs::{Advice, fadvise};

/// The length of the file, in pages.
pub(crate) const PAGES: u64 = 64;

/// Writes a file of pages.
pub(crate) fn write_pages(path: &Path, pages: u64) {
    fs::write(path, vec![b'x'; usize::try_from(pages * 4096).unwrap()]).unwrap();
}

/// Resident pages by util-linux's `fincore`; `None` without it.
pub(crate) fn resident(path: &Path) -> Option<u64> {
    let output = Command::new("fincore").args(["--noheadings", "--output", "PAGES"]).arg(path).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

pub(crate) fn make_cold(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

/// A plan that reads all pages of the file at `path`, which the program will find as `name`, before the program starts.
pub(crate) fn plan_of(path: &Path, name: &Path) -> Vec<u8> {
    let found = fs::metadata(path).unwrap();
    let identity = FileIdentity::from_stat(i64::try_from(found.size()).unwrap(), found.mtime(), found.mtime_nsec());
    let range = PageRange::new(0, PAGES).unwrap();
    let file = FileUse {
        path: name.to_owned(),
        kind: FileKind::Regular,
        identity,
        device: found.dev(),
        touched: vec![Touched { range, at: Duration::ZERO }],
        extents: Vec::new(),
    };
    let working_set = WorkingSet {
        command: vec!["true".into()],
        files: vec![file],
        names: Vec::new(),
        source: PageSource::Residency,
        duration: Duration::from_secs(1),
    };
    let device = PlannedDevice { latency: Duration::from_micros(100), bandwidth: 1 << 30, parallel: 8, seeks: false };
    let input = PlanInput {
        working_set: &working_set,
        device,
        hot_start: None,
        recorded_at: 0,
        strategy: Some(Strategy::Blocking),
    };
    plan_prefetch(&input).to_bytes().unwrap()
}
