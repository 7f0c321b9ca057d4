//! Files whose pages are out of memory before a test begins, for certain.
//!
//! `POSIX_FADV_DONTNEED` passes over a folio that somebody else holds at that moment, such as another test that drops the
//! page cache, and large folios make that hundreds of pages; so it is asked again until nothing is left.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use coldstart_sys::mincore::mincore;
use rustix::fs::{Advice, fadvise};

/// Writes the file to the disk and drops its pages.
pub(crate) fn make_cold(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
    for _ in 0..1000 {
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        if !mincore(&file, 0, size).unwrap().contains(&true) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("pages of {} stay in memory: does something have it mapped?", path.display());
}
