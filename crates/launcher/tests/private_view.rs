//! A replay in a private view reads the replacement, which it knows by the plan's identity.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use coldstart_prefetch::{PlanInput, Strategy, plan_prefetch};
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::{FileIdentity, FileKind, FileUse, PageRange, PageSource, Touched, WorkingSet};
use coldstart_sys::private_mounts::{Overlay, PrivateMounts};
use coldstart_testing::{eventually, skip};
use rustix::fs::{Advice, fadvise};

const PAGES: u64 = 64;

/// Resident pages by util-linux's `fincore`; `None` without it.
fn resident(path: &Path) -> Option<u64> {
    let output = Command::new("fincore").args(["--noheadings", "--output", "PAGES"]).arg(path).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

fn make_cold(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

#[test]
fn the_replacement_s_pages_are_prefetched() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path().canonicalize().unwrap();
    let (original, replacement) = (here.join("original"), here.join("replacement"));
    for (path, pages) in [(&original, PAGES * 2), (&replacement, PAGES)] {
        fs::write(path, vec![b'x'; usize::try_from(pages * 4096).unwrap()]).unwrap();
    }
    let overlay = Overlay { original: original.clone(), replacement: replacement.clone() };
    let Ok(view) = PrivateMounts::create(&[overlay]).map(Arc::new) else {
        skip("no private view is possible here");
        return;
    };
    let found = fs::metadata(&replacement).unwrap();
    let identity = FileIdentity::from_stat(i64::try_from(found.size()).unwrap(), found.mtime(), found.mtime_nsec());
    let range = PageRange::new(0, PAGES).unwrap();
    let file = FileUse {
        path: original.clone(),
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
    let plan = here.join("plan");
    fs::write(&plan, plan_prefetch(&input).to_bytes().unwrap()).unwrap();
    make_cold(&replacement);
    make_cold(&original);
    if resident(&replacement) != Some(0) {
        skip("fincore is missing, or this file system keeps pages");
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-run"));
    command.arg(&plan).args(["--", "true"]);
    view.enter_with(&mut command);
    assert!(command.status().unwrap().success());
    eventually("the replacement is in memory", || resident(&replacement) == Some(PAGES));
    assert_eq!(resident(&original), Some(0));
}
